import type { Metrics } from "./metrics.ts";
import { createReadGauge } from "./read-gauge.ts";

/** The unfinished work of one kind on a chain, in one state. */
export interface OpenSagas {
  readonly chain: string;
  readonly saga: string;
  readonly state: string;
  readonly count: number;
  /** Seconds since the oldest began; 0 where there is none. */
  readonly oldest: number;
}

/** Milliseconds between two reads of what is open. */
export const OPEN_SAGAS_MS = 15_000;

/** Creates the metrics of unfinished sagas. Returns what sets them. */
export function createSagaMetrics(metrics: Metrics): (sagas: readonly OpenSagas[]) => void {
  const labelNames = ["chain", "saga", "state"] as const;
  const open = createReadGauge(metrics, {
    name: "countersign_open_sagas",
    help: "Work in several steps that is not finished, at most 10000",
    labelNames,
  });
  const oldest = createReadGauge(metrics, {
    name: "countersign_open_saga_oldest_seconds",
    help: "Age of the oldest unfinished work",
    labelNames,
  });
  return (sagas) => {
    open(sagas.map(({ chain, saga, state, count }) => ({ chain, saga, state, value: count })));
    oldest(sagas.map(({ chain, saga, state, oldest: value }) => ({ chain, saga, state, value })));
  };
}
