import { readFileSync } from "node:fs";
import { join } from "node:path";
import { trackedFiles } from "./check-words.ts";

/** Files whose zod schemas declare settings. */
const CONFIG = /^(gateway|services\/[^/]+|packages\/runtime)\/src\/(.*\/)?config\.ts$/;
const PREFIXES = "CS|GATEWAY|AUTH|DEVICE|KEY|ACCOUNT|SIGNER";

/** Returns the environment variables that a schema declares. */
export const settingsOf = (source: string): string[] =>
  [...source.matchAll(new RegExp(`^ {2}((?:${PREFIXES})_[A-Z0-9_]+):`, "gm"))].map((match) => match[1]!);

/** Returns each setting that no page of docs/ names. */
export function checkSettings(root: string): string[] {
  const files = trackedFiles(root);
  const read = (path: string) => readFileSync(join(root, path), "utf8");
  const pages = files.filter((path) => /^docs\/[^/]+\.md$/.test(path)).map(read);
  const named = new Set(pages.flatMap((page) => page.match(new RegExp(`\\b(?:${PREFIXES})_[A-Z0-9_]+`, "g")) ?? []));
  return files
    .filter((path) => CONFIG.test(path))
    .flatMap((path) =>
      settingsOf(read(path))
        .filter((name) => !named.has(name))
        .map((name) => `${path}: ${name} is not in docs/configuration.md`),
    );
}
