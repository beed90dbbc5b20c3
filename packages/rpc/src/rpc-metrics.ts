import { REASONS, toAppError } from "@countersign/core";
import { Counter, Histogram, type Registry } from "prom-client";

type Calls = Histogram<"method" | "code">;
type Streams = Counter<"method" | "code">;

/**
 * RPCs by method and gRPC code: those that this process answered, and its calls to other services. Seconds of
 * unary ones, also of those that share a stream; of streams, which last for hours, only how many ended.
 */
export interface RpcMetrics {
  rpcServer: Calls;
  rpcClient: Calls;
  rpcServerStreams: Streams;
  rpcClientStreams: Streams;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Creates the metrics of RPCs in the process's registry. */
export function createRpcMetrics(registry: Registry): RpcMetrics {
  const labelNames = ["method", "code"] as const;
  const registers = [registry];
  const calls = (name: string, help: string): Calls =>
    new Histogram({ name, help, labelNames, buckets: SECONDS, registers });
  const streams = (name: string, help: string): Streams => new Counter({ name, help, labelNames, registers });
  return {
    rpcServer: calls("countersign_rpc_server_seconds", "Seconds of answered unary RPCs"),
    rpcClient: calls("countersign_rpc_client_seconds", "Seconds of unary calls to other services"),
    rpcServerStreams: streams("countersign_rpc_server_streams_total", "Streams of callers that ended"),
    rpcClientStreams: streams("countersign_rpc_client_streams_total", "Streams to other services that ended"),
  };
}

/** Does the work of a unary RPC and observes its seconds and the code of its error. */
export async function observeCall<T>(calls: Calls, method: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const observe = (code: string) => calls.observe({ method, code }, (performance.now() - started) / 1_000);
  try {
    const result = await work();
    observe("OK");
    return result;
  } catch (error) {
    observe(REASONS[toAppError(error).reason].grpc);
    throw error;
  }
}
