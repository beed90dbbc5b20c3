import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { trackedFiles } from "./check-words.ts";

const SOURCE = /^(gateway|services\/[^/]+|packages\/[^/]+)\/src\/.*(?<!\.test)\.ts$/;

/** Returns the metrics that a source file creates, by `name: "…"` or by a helper that takes the name. */
export const createdMetrics = (source: string): string[] =>
  [...source.matchAll(/(?:name: |calls\(|streams\()"(countersign_\w+)"/g)].map(([, name]) => name!);

/** Returns the metrics that docs/metrics.md has a row for. */
export const documentedMetrics = (page: string): string[] =>
  [...page.matchAll(/^\| `(countersign_\w+)` \|/gm)].map(([, name]) => name!);

/** Returns each metric that the code creates and docs/metrics.md does not have, and the other way round. */
export function checkMetrics(root: string): string[] {
  const read = (path: string) => readFileSync(join(root, path), "utf8");
  const sources = trackedFiles(root).filter((path) => SOURCE.test(path) && existsSync(join(root, path)));
  const created = new Set(sources.flatMap((path) => createdMetrics(read(path))));
  const documented = documentedMetrics(read("docs/metrics.md"));
  return [
    ...[...created].filter((name) => !documented.includes(name)).map((name) => `${name} is not in docs/metrics.md`),
    ...documented.filter((name) => !created.has(name)).map((name) => `docs/metrics.md: nothing creates ${name}`),
  ];
}
