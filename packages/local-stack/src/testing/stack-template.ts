import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { run } from "@countersign/build/run.ts";
import { postgresHome } from "../postgres.ts";
import { startStack } from "../stack.ts";

/**
 * Makes a state that stacks can begin with: certificates, a cluster with all migrations, and a chain with creator and
 * paymaster. To make these is half of a stack's start, and they are the same for all.
 */
export async function makeTemplate(stateDir: string, say: (line: string) => void): Promise<void> {
  const running = await startStack({ stateDir, freePorts: true, throwAway: true, programs: [], say });
  await running.stop();
  // A stack's own: what it says, and what it was told of.
  for (const name of ["log", "nats"]) rmSync(join(stateDir, name), { recursive: true, force: true });
}

/** Begins a stack's state, whose directory is empty, with a template's. The stack's start does what is left to do. */
export async function beginWith(template: string, stateDir: string): Promise<void> {
  const pairs = [
    [template, stateDir],
    [postgresHome(template), postgresHome(stateDir)],
  ] as const;
  for (const [from, to] of pairs) {
    mkdirSync(to, { recursive: true });
    // Not cpSync: the cluster's files stay their owner's.
    await run("cp", ["-a", `${from}/.`, to]);
  }
}

/** Removes a stack's state, or a template's. */
export function removeState(stateDir: string): void {
  for (const path of [stateDir, postgresHome(stateDir)]) rmSync(path, { recursive: true, force: true });
}
