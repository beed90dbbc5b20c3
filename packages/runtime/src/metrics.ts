import { createRpcMetrics, type RpcMetrics } from "@countersign/rpc";
import { collectDefaultMetrics, Registry } from "prom-client";

/** The metrics of one process; further ones register in `registry`. */
export interface Metrics extends RpcMetrics {
  registry: Registry;
}

/** Creates the metrics of one process. `defaults: false` leaves out those of Node itself (tests). */
export function createMetrics(name: string, options: { defaults?: boolean } = {}): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ service: name });
  if (options.defaults ?? true) collectDefaultMetrics({ register: registry });
  return { registry, ...createRpcMetrics(registry) };
}
