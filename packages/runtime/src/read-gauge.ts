import { Gauge } from "prom-client";
import type { Metrics } from "./metrics.ts";

/** Values older than this are not exported: another replica may have taken over the reading. */
const MAX_READ_AGE_MS = 60_000;

export type Reading<L extends string> = Readonly<Record<L, string>> & { readonly value: number };

/**
 * Creates a gauge of values that are read now and then, such as a count in the database. Returns what sets
 * values; those that are not set again within a minute are no longer exported.
 */
export function createReadGauge<L extends string>(
  { registry }: Metrics,
  { name, help, labelNames }: { name: string; help: string; labelNames: readonly L[] },
): (readings: readonly Reading<L>[]) => void {
  const known = new Map<string, { reading: Reading<L>; readAt: number }>();
  new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      const oldest = performance.now() - MAX_READ_AGE_MS;
      for (const { reading, readAt } of known.values()) {
        const { value, ...labels } = reading;
        if (readAt >= oldest) this.set(labels as unknown as Record<L, string>, value);
      }
    },
  });
  return (readings) => {
    const readAt = performance.now();
    for (const reading of readings) {
      known.set(labelNames.map((label) => reading[label]).join("\n"), { reading, readAt });
    }
  };
}
