import type { Stack } from "@countersign/local-stack/stack-file.ts";
import type { LoadOptions, Measured } from "./load.ts";
import { cpuSeconds } from "./memory.ts";

/** Runs a measurement; returns also each process's processor time per operation, in microseconds. */
export async function withCpu(
  { processes }: Pick<Stack, "processes">,
  options: LoadOptions,
  measure: (options: LoadOptions) => Promise<Measured>,
): Promise<{ measured: Measured; cpu: Record<string, number> }> {
  const pids: Record<string, number> = {
    ...Object.fromEntries(Object.entries(processes).map(([name, { pid }]) => [name, pid])),
    load: process.pid,
  };
  const used = () => Object.entries(pids).map(([name, pid]) => [name, cpuSeconds(pid)] as const);
  let before = used();
  let after = before;
  const begins = () => {
    before = used();
  };
  const ends = () => {
    after = used();
  };
  const measured = await measure({ ...options, begins, ends });
  const cpu = Object.fromEntries(
    after
      .map(([name, seconds], i) => [name, Math.round(((seconds - before[i]![1]) / measured.requests) * 1e6)] as const)
      .filter(([, micros]) => micros >= 1),
  );
  return { measured, cpu };
}
