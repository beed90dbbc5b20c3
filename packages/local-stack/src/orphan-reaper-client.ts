import { spawn } from "node:child_process";
import { join } from "node:path";
import type { Writable } from "node:stream";

let pipe: Writable | undefined;

/** Starts the orphan reaper once: a process that ends registered children when its standard input closes. */
function reaper(): Writable {
  if (pipe) return pipe;
  const child = spawn(process.execPath, [join(import.meta.dirname, "orphan-reaper.ts")], {
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

// Our own exit, expected or not, ends all children at once; the orphan reaper handles the ends that this
// process cannot.
process.on("exit", () => {
  for (const pid of guarded) {
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  }
});

/** Has the orphan reaper end this process and its group, in order, if the supervisor dies. */
export function guard(pid: number, stopSignal: NodeJS.Signals): void {
  guarded.add(pid);
  reaper().write(`guard ${pid} ${stopSignal}\n`);
}

export function unguard(pid: number): void {
  guarded.delete(pid);
  reaper().write(`unguard ${pid}\n`);
}
