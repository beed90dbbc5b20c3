import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { root } from "../paths.ts";
import { type RunningStack, startStack } from "../stack.ts";
import { removeState } from "./stack-template.ts";
import "./provided.ts";

/**
 * Vitest's global set-up of the `e2e` project: real stacks, on free ports, with state that is thrown away. Each of
 * vitest's workers has one of its own, started when the worker asks for it: its files run on it one after the other.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = mkdtempSync(join(tmpdir(), "countersign-e2e-"));
  const stacks = new Map<string, Promise<RunningStack>>();
  const stackOf = (worker: string): Promise<RunningStack> => {
    const started = stacks.get(worker) ?? start(join(directory, worker), worker);
    stacks.set(worker, started);
    return started;
  };
  const server = createServer((socket) => {
    socket.setEncoding("utf8").once("data", async (worker: string) => {
      const answer = await stackOf(worker.trim()).then(
        ({ stack }) => ({ stack }),
        (error: Error) => ({ error: error.message }),
      );
      socket.end(JSON.stringify(answer));
    });
    socket.on("error", () => undefined);
  });
  const path = join(directory, "stacks.sock");
  await new Promise<void>((resolve) => server.listen(path, resolve));
  project.provide("stackServer", path);
  project.provide("stackDir", root);
  return async () => {
    server.close();
    const running = await Promise.allSettled(stacks.values());
    await Promise.all(running.map((each) => each.status === "fulfilled" && each.value.stop()));
    for (const worker of stacks.keys()) removeState(join(directory, worker));
    rmSync(directory, { recursive: true, force: true });
  };
}

async function start(stateDir: string, worker: string): Promise<RunningStack> {
  try {
    const say = (line: string) => console.log(`stack ${worker}: ${line}`);
    return await startStack({ stateDir, freePorts: true, throwAway: true, webWallet: true, say });
  } catch (error) {
    // Logs of a stack that did not start are what one wants to read: they stay, the rest goes.
    const kept = join(root, ".local", "failed-stack");
    rmSync(kept, { recursive: true, force: true });
    cpSync(join(stateDir, "log"), kept, { recursive: true });
    throw error;
  }
}
