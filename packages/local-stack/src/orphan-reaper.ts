import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

// Outlives a killed supervisor by a few seconds and ends the processes that it had started: newest first,
// then by force.
const guarded = new Map<number, NodeJS.Signals>();

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}

// A terminal's Ctrl-C and a plain stop are the supervisor's to handle; the orphan reaper ends with its input.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);

for await (const line of createInterface({ input: process.stdin })) {
  const [verb, pid, signal] = line.split(" ");
  if (verb === "guard") guarded.set(Number(pid), signal as NodeJS.Signals);
  else guarded.delete(Number(pid));
}

const newestFirst = [...guarded].reverse();
for (const [pid, signal] of newestFirst) send(pid, signal);
const deadline = performance.now() + 8000;
while (performance.now() < deadline && newestFirst.some(([pid]) => send(-pid, 0))) await sleep(100);
for (const [pid] of newestFirst) send(-pid, "SIGKILL");
