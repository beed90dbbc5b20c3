import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { trackedFiles } from "./check-words.ts";

const MIGRATION = /^services\/[^/]+\/prisma\/migrations\/(\d+)_[^/]+\/migration\.sql$/;
/** There was no installation with data when those before this one were written. */
const FIRST_CHECKED_MIGRATION = "20261123060000";

/** Returns squawk's findings in files; with `text`, in that instead of the content of the only one. */
export function findLongLocks(root: string, paths: readonly string[], text?: string): string[] {
  if (paths.length === 0) return [];
  const args = ["--config", join(root, "dev/squawk.toml"), "--reporter", "gcc"];
  const from = text === undefined ? paths : ["--stdin-filepath", ...paths];
  const options = { cwd: root, encoding: "utf8", input: text ?? "" } as const;
  const { status, stdout, stderr } = spawnSync(join(root, "node_modules/.bin/squawk"), [...args, ...from], options);
  if (status === 0) return [];
  const found = stdout.split("\n").filter((line) => line.includes(": warning: ") || line.includes(": error: "));
  return found.length > 0 ? found : [`squawk failed: ${stderr}`];
}

/** Returns statements of new migrations that lock a table for long, or break older replicas. */
export const checkMigrations = (root: string): string[] =>
  findLongLocks(
    root,
    trackedFiles(root).filter((path) => (MIGRATION.exec(path)?.[1] ?? "") >= FIRST_CHECKED_MIGRATION),
  );
