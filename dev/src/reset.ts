import { existsSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { defaultStateDir } from "@countersign/build/paths.ts";
import { isRunning } from "@countersign/local-stack/is-running.ts";
import { postgresHome } from "@countersign/local-stack/postgres.ts";

/** `npm run reset`: deletes accounts, chain, keys and certificates of the local stack. Tools stay built. */
export async function reset(folder: string = defaultStateDir): Promise<void> {
  const stateDir = resolve(folder);
  const pidFile = join(stateDir, "supervisor.pid");
  const pid = existsSync(pidFile) ? Number(readFileSync(pidFile, "utf8")) : 0;
  if (isRunning(pid)) throw new Failure(`the stack runs (pid ${pid}): stop it first.`);
  rmSync(stateDir, { recursive: true, force: true });
  rmSync(postgresHome(stateDir), { recursive: true, force: true });
  console.log("reset: the next start begins with an empty chain and empty databases");
}
