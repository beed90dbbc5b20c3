import { readFileSync, writeFileSync } from "node:fs";

const FILE = "/sys/module/haltpoll/parameters/guest_halt_poll_ns";
/** Linux's default. */
const DEFAULT_NS = "200000";

/**
 * Lets an idle processor of a virtual machine poll before it halts, as Linux does by default, where that is
 * switched off. To wake a process on a halted processor takes a visit of the hypervisor, which a benchmark
 * would measure at half load. Needs root. Returns what switches it off again, or undefined: nothing changed.
 */
export function switchHaltPollingOn(): (() => void) | undefined {
  try {
    if (readFileSync(FILE, "utf8").trim() !== "0") return undefined;
    writeFileSync(FILE, DEFAULT_NS);
    return () => writeFileSync(FILE, "0");
  } catch {
    return undefined;
  }
}
