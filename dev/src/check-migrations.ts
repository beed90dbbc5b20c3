import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { trackedFiles } from "./check-words.ts";

const MIGRATION = /^services\/[^/]+\/prisma\/migrations\/(\d+)_[^/]+\/migration\.sql$/;
/** There was no installation with data when those before this one were written. */
const FIRST_CHECKED_MIGRATION = "20261123060000";

/** Returns squawk's findings in a file, or in `text` instead of its content. */
export function findLongLocks(root: string, path: string, text?: string): string[] {
  const args = ["--config", join(root, "dev/squawk.toml"), "--reporter", "gcc"];
  const from = text === undefined ? [path] : ["--stdin-filepath", path];
  const options = { cwd: root, encoding: "utf8", input: text ?? "" } as const;
  const { status, stdout, stderr } = spawnSync(join(root, "node_modules/.bin/squawk"), [...args, ...from], options);
  if (status === 0) return [];
  const found = stdout.split("\n").filter((line) => line.includes(": warning: ") || line.includes(": error: "));
  return found.length > 0 ? found : [`${path}: squawk failed: ${stderr}`];
}

/** Returns statements of new migrations that lock a table for long, or break older replicas. */
export const checkMigrations = (root: string): string[] =>
  trackedFiles(root)
    .filter((path) => (MIGRATION.exec(path)?.[1] ?? "") >= FIRST_CHECKED_MIGRATION)
    .flatMap((path) => findLongLocks(root, path));
