import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { defaultStateDir } from "@countersign/build/paths.ts";
import { playDemo } from "@countersign/local-stack/demo.ts";
import { isRunning } from "@countersign/local-stack/is-running.ts";
import type { Stack } from "@countersign/local-stack/stack-file.ts";

/** Returns the running stack with its state in this folder. Errors: Failure where none runs. */
export function runningStack(stateDir: string = defaultStateDir): Stack {
  const file = join(resolve(stateDir), "stack.json");
  const stack: Stack | undefined = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
  // A stack that was killed leaves its stack.json.
  if (!stack?.processes.gateway || !isRunning(stack.processes.gateway.pid))
    throw new Failure(
      `no stack runs with its state in ${resolve(stateDir)}: run \`npm start\` in another terminal first, ` +
        "and wait until it says `ready`.",
    );
  return stack;
}

/** `npm run demo`: plays a phone against the running stack. */
export async function demo(stateDir?: string): Promise<void> {
  await playDemo(runningStack(stateDir));
}
