import { collectDefaultMetrics, Histogram, Registry } from "prom-client";

/** A process's metrics; register further ones on `registry`. */
export interface Metrics {
  registry: Registry;
  /** Seconds of answered RPCs, by method and gRPC code. */
  rpcServer: Histogram<"method" | "code">;
  /** Seconds of calls to others, by method and gRPC code. */
  rpcClient: Histogram<"method" | "code">;
}

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The metrics of one process. `defaults: false` leaves out those of Node itself (tests). */
export function createMetrics(name: string, options: { defaults?: boolean } = {}): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ service: name });
  if (options.defaults ?? true) collectDefaultMetrics({ register: registry });
  const histogram = (metric: string, help: string) =>
    new Histogram({ name: metric, help, labelNames: ["method", "code"] as const, buckets, registers: [registry] });
  return {
    registry,
    rpcServer: histogram("countersign_rpc_server_seconds", "Seconds of answered RPCs"),
    rpcClient: histogram("countersign_rpc_client_seconds", "Seconds of calls to other services"),
  };
}
