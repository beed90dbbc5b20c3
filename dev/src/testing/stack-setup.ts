import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { root } from "../paths.ts";
import { postgresHome } from "../postgres.ts";
import { startStack } from "../stack.ts";
import "./provided.ts";

/** Vitest's global set-up of the `e2e` project: the real stack, on free ports, with state that is thrown away. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const stateDir = mkdtempSync(join(tmpdir(), "countersign-e2e-"));
  const remove = () => {
    for (const path of [stateDir, postgresHome(stateDir)]) rmSync(path, { recursive: true, force: true });
  };
  try {
    const say = (line: string) => console.log(`stack: ${line}`);
    const running = await startStack({ stateDir, freePorts: true, throwAway: true, webWallet: true, say });
    project.provide("stack", running.stack);
    project.provide("stackDir", root);
    return async () => {
      await running.stop();
      remove();
    };
  } catch (error) {
    // Logs of a stack that did not start are what one wants to read: they stay, the rest goes.
    const kept = join(root, ".local", "failed-stack");
    rmSync(kept, { recursive: true, force: true });
    cpSync(join(stateDir, "log"), kept, { recursive: true });
    remove();
    throw error;
  }
}
