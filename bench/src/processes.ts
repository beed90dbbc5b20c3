import type { Stack } from "@countersign/dev/stack-file.ts";
import type { Measured } from "./load.ts";
import { cpuSeconds } from "./memory.ts";

/** Runs a measurement and tells how much processor time each process of the stack took per operation, in microseconds. */
export async function withCpu(
  stack: Stack,
  measure: () => Promise<Measured>,
): Promise<{ measured: Measured; cpu: Record<string, number> }> {
  const pids: Record<string, number> = {
    ...Object.fromEntries(Object.entries(stack.processes).map(([name, { pid }]) => [name, pid])),
    load: process.pid,
  };
  const before = Object.entries(pids).map(([name, pid]) => [name, cpuSeconds(pid)] as const);
  const started = performance.now();
  const measured = await measure();
  const elapsed = (performance.now() - started) / 1000;
  const operations = measured.perSecond * elapsed;
  const cpu = Object.fromEntries(
    before
      .map(([name, seconds]) => [name, Math.round(((cpuSeconds(pids[name]!) - seconds) / operations) * 1e6)] as const)
      .filter(([, micros]) => micros >= 1),
  );
  return { measured, cpu };
}
