import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { postgresDir } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import { startStack } from "../stack.ts";

/**
 * Makes a state that stacks can begin with: certificates, a cluster with all migrations, and a chain with
 * creator and paymaster. To make these is half of a stack's start, and they are the same for all.
 */
export async function makeTemplate(stateDir: string, say: (line: string) => void): Promise<void> {
  const running = await startStack({ stateDir, freePorts: true, throwAway: true, programs: [], say });
  await running.stop();
  // These belong to one stack only: its logs and its events.
  for (const name of ["log", "nats"]) rmSync(join(stateDir, name), { recursive: true, force: true });
}

/** Fills the empty state directory of a stack from a template. The stack's start does the remaining work. */
export async function beginWith(template: string, stateDir: string): Promise<void> {
  const pairs = [
    [template, stateDir],
    [postgresDir(template), postgresDir(stateDir)],
  ] as const;
  for (const [from, to] of pairs) {
    mkdirSync(to, { recursive: true });
    // Not cpSync: the cluster's files stay their owner's.
    await run("cp", ["-a", `${from}/.`, to]);
  }
}

/** Removes a stack's state, or a template's. */
export function removeState(stateDir: string): void {
  for (const path of [stateDir, postgresDir(stateDir)]) rmSync(path, { recursive: true, force: true });
}
