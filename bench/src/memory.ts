import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** Returns the resident memory of a process in MiB. */
export function residentMiB(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? Number.NaN) / 1024;
  } catch {
    return Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" })) / 1024;
  }
}

const statOf = (pid: number): string[] => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");

/**
 * Returns the seconds of processor time that a process and its present children have used (Postgres works in
 * children); NaN without /proc. For this process only its own time counts: its children are the stack.
 */
export function cpuSeconds(pid: number): number {
  try {
    const tasks = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    let ticks = 0;
    for (const task of tasks) {
      try {
        const stat = statOf(Number(task));
        if (Number(task) === pid || (Number(stat[1]) === pid && pid !== process.pid))
          ticks += Number(stat[11]) + Number(stat[12]);
      } catch {
        // It ended meanwhile.
      }
    }
    return ticks / 100;
  } catch {
    return Number.NaN;
  }
}
