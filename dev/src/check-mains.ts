import { readFileSync } from "node:fs";
import { join } from "node:path";
import { trackedFiles } from "./check-words.ts";

const MAIN = /^(gateway|services\/[^/]+)\/src\/(main|start-\w+)\.ts$/;
const MAX_LINES = 120;

/** Returns each main of a service that is too long: only what differs from other services belongs there. */
export function checkMains(root: string): string[] {
  return trackedFiles(root)
    .filter((path) => MAIN.test(path))
    .map((path) => ({ path, lines: readFileSync(join(root, path), "utf8").split("\n").length - 1 }))
    .filter(({ lines }) => lines > MAX_LINES)
    .map(
      ({ path, lines }) => `${path}: ${lines} lines, at most ${MAX_LINES}: see packages/runtime/src/service-runtime.ts`,
    );
}
