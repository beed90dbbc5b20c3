import { Histogram, type Registry } from "prom-client";

/**
 * Seconds of RPCs by method and gRPC code: RPCs that this process answered, and its calls to other services.
 */
export interface RpcMetrics {
  rpcServer: Histogram<"method" | "code">;
  rpcClient: Histogram<"method" | "code">;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Creates the histograms in the process's registry. */
export function createRpcMetrics(registry: Registry): RpcMetrics {
  const histogram = (name: string, help: string) =>
    new Histogram({
      name,
      help,
      labelNames: ["method", "code"] as const,
      buckets: SECONDS,
      registers: [registry],
    });
  return {
    rpcServer: histogram("countersign_rpc_server_seconds", "Seconds of answered RPCs"),
    rpcClient: histogram("countersign_rpc_client_seconds", "Seconds of calls to other services"),
  };
}
