import type { Logger, TlsMaterial, TokenVerifier, Watched } from "@countersign/core";
import type { InFlight } from "./in-flight.ts";
import type { Peers } from "./peers.ts";
import type { RpcMetrics } from "./rpc-metrics.ts";

export interface RpcServerOptions {
  /** May change: see tls-listener.ts. */
  tls: TlsMaterial | Watched<TlsMaterial>;
  /** May change: decides about each call and, once a second, about open streams. */
  peers: Peers | Watched<Peers>;
  /** Required as soon as one RPC needs a user token. */
  tokenVerifier?: TokenVerifier | undefined;
  logger: Logger;
  metrics: RpcMetrics;
  /** Milliseconds that a unary RPC may take; a caller's shorter deadline wins. Default 3000. */
  deadlineMs?: number | undefined;
  /** Other deadlines of single RPCs, by name ("auth.v1.SignUp/SignUp"). */
  deadlines?: Readonly<Record<string, number>> | undefined;
  /** Milliseconds for which a connection is used after a CA was removed. Default 60000. */
  moveMs?: number;
  /** Bytes of one message. Default 1 MiB. */
  maxMessageBytes?: number;
}

/** A call that is not answered yet. */
export interface RunningCall {
  id: number;
  stop(): void;
}

export interface ServerRuntime {
  options: RpcServerOptions;
  peers: Watched<Peers>;
  /** Aborts when the process begins to stop. */
  draining: AbortSignal;
  /** Ended when the drain time is over. */
  runningCalls: InFlight<RunningCall>;
}
