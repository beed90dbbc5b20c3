import { spawn } from "node:child_process";
import { join } from "node:path";
import type { Writable } from "node:stream";

let pipe: Writable | undefined;

/** Starts the guardian once: a small process that notices our end, however it comes, by the end of its standard input. */
function guardian(): Writable {
  if (pipe) return pipe;
  const child = spawn(process.execPath, [join(import.meta.dirname, "guardian.ts")], {
    stdio: ["pipe", "ignore", "inherit"],
    detached: true,
  });
  child.unref();
  child.stdin.on("error", () => undefined);
  (child.stdin as unknown as { unref(): void }).unref();
  pipe = child.stdin;
  return pipe;
}

/** From now on this process and its group are ended, in order, if the supervisor dies. */
export function guard(pid: number, stopSignal: NodeJS.Signals): void {
  guardian().write(`guard ${pid} ${stopSignal}\n`);
}

export function unguard(pid: number): void {
  guardian().write(`unguard ${pid}\n`);
}
