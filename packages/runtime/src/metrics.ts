import { readFileSync } from "node:fs";
import type { OutsideCallObserver } from "@countersign/core";
import { createRpcMetrics, type RpcMetrics } from "@countersign/rpc";
import { collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** The metrics of one process; further ones register in `registry`. */
export interface Metrics extends RpcMetrics {
  registry: Registry;
}

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

/**
 * Milliseconds between two samples of the event loop's lag; the dashboard of processes takes them off. Each
 * wakes the process: with prom-client's 10 ms, an idle one spends a sixth of its processor time on them.
 */
const SAMPLE_MS = 100;

/** Creates the metrics of one process. `defaults: false` leaves out those of Node itself (tests). */
export function createMetrics(name: string, options: { defaults?: boolean } = {}): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ service: name });
  if (options.defaults ?? true) collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: SAMPLE_MS });
  new Gauge({
    name: "countersign_build_info",
    help: "1 for the version that runs",
    labelNames: ["version"] as const,
    registers: [registry],
  }).set({ version }, 1);
  return { registry, ...createRpcMetrics(registry) };
}

/** Creates the metric of calls to the outside; see `asOutsidePort`. */
export function createOutsideCalls({ registry }: Metrics): OutsideCallObserver {
  const seconds = new Histogram({
    name: "countersign_outside_call_seconds",
    help: "Seconds of calls of chain, identity provider, vault, push and mail",
    labelNames: ["port", "method", "outcome"] as const,
    buckets: [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  return (port, method) => {
    // Once for each method: finding a label's histogram costs more than observing.
    const ok = seconds.labels({ port, method, outcome: "ok" });
    const failed = seconds.labels({ port, method, outcome: "failed" });
    return (value, isFailed) => (isFailed ? failed : ok).observe(value);
  };
}
