import { readFileSync } from "node:fs";
import type { Logger } from "@countersign/core";

/**
 * Logs a warning where core dumps are enabled: a core dump contains all keys. A program cannot disable its
 * own from JavaScript; the command that starts the signer does (`ulimit -c 0`, `ulimits: core: 0`,
 * LimitCORE=0). Where the system has no such file, nothing is checked.
 */
export function warnOfCoreDumps(logger: Pick<Logger, "warn">, limitsFile = "/proc/self/limits"): void {
  let limits: string;
  try {
    limits = readFileSync(limitsFile, "utf8");
  } catch {
    return;
  }
  const [, soft] = /^Max core file size\s+(\S+)/m.exec(limits) ?? [];
  if (soft !== undefined && soft !== "0")
    logger.warn(
      { event: "core-dumps" },
      "a crash may write the keys to a core dump: start the signer with a core limit of 0",
    );
}
