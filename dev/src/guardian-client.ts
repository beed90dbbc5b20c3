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

const guarded = new Set<number>();

// An exit of our own, foreseen or not, takes everything with it at once; the guardian is for the end that we do not see.
process.on("exit", () => {
  for (const pid of guarded) {
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  }
});

/** From now on this process and its group are ended, in order, if the supervisor dies. */
export function guard(pid: number, stopSignal: NodeJS.Signals): void {
  guarded.add(pid);
  guardian().write(`guard ${pid} ${stopSignal}\n`);
}

export function unguard(pid: number): void {
  guarded.delete(pid);
  guardian().write(`unguard ${pid}\n`);
}
