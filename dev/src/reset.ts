import { existsSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { defaultStateDir, postgresDir } from "@countersign/build/paths.ts";
import { isRunning } from "@countersign/local-stack/is-running.ts";
import { checkStateDir } from "./state-dir.ts";

/** Returns the state directories to reset: of the stack, and of the one on Citus that may be inside. */
export const stateDirsOf = (folder = defaultStateDir): string[] => [resolve(folder), join(resolve(folder), "citus")];

/**
 * `npm run reset`: deletes accounts, chain, keys and certificates of the local stack, also of the one
 * on Citus. Tools stay built. Errors: Failure while it runs, and for a folder with other files.
 */
export async function reset(folder?: string): Promise<void> {
  const stateDirs = stateDirsOf(folder);
  for (const stateDir of stateDirs) {
    const pidFile = join(stateDir, "supervisor.pid");
    const pid = existsSync(pidFile) ? Number(readFileSync(pidFile, "utf8")) : 0;
    if (isRunning(pid)) throw new Failure(`the stack of ${stateDir} runs (pid ${pid}): stop it first.`);
  }
  if (folder !== undefined) checkStateDir(resolve(folder));
  for (const path of stateDirs.flatMap((stateDir) => [stateDir, postgresDir(stateDir)]))
    rmSync(path, { recursive: true, force: true });
  console.log("reset: the next start begins with an empty chain and empty databases");
}
