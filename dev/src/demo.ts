import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { root } from "@countersign/build/paths.ts";
import { playDemo } from "@countersign/local-stack/demo.ts";
import { isRunning } from "@countersign/local-stack/is-running.ts";
import type { Stack } from "@countersign/local-stack/stack-file.ts";

/** Returns the running stack. Errors: Failure where none runs. */
export function runningStack(): Stack {
  const file = join(root, ".local/stack.json");
  const stack: Stack | undefined = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
  // A stack that was killed leaves its stack.json.
  if (!stack?.processes.gateway || !isRunning(stack.processes.gateway.pid))
    throw new Failure("no stack is running: run `npm start` in another terminal first.");
  return stack;
}

/** `npm run demo`: plays a phone against the running stack. */
export async function demo(): Promise<void> {
  await playDemo(runningStack());
}
