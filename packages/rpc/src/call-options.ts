import type { CallContext } from "./context.ts";

export interface RpcCallOptions {
  /**
   * The incoming call that this one is part of: its request id, trace, user token, deadline and cancellation
   * are passed on. See `signal` for cancellation.
   */
  onBehalfOf?: Pick<CallContext, "requestId" | "signal"> &
    Partial<Pick<CallContext, "trace" | "rawToken" | "deadline">>;
  deadlineMs?: number | undefined;
  /** A user's access token, instead of the call's. */
  token?: string | undefined;
  requestId?: string | undefined;
  /** A `traceparent` header to continue. */
  traceparent?: string | undefined;
  /** Accepted from the gateway only. */
  clientIp?: string | undefined;
  /**
   * Cancels the call. With `coalesce`, a unary call can be cancelled only before it is sent and between its
   * attempts: an attempt on the shared stream continues, and its promise waits for the answer or the
   * deadline.
   */
  signal?: AbortSignal | undefined;
  /**
   * Sending a unary call twice is harmless: the client repeats it after UNAVAILABLE. Never for signing, nor
   * where a second call could build another transaction. Streams are not repeated.
   */
  idempotent?: boolean;
  /** A stream waits until a replica can be reached, instead of failing: its caller would only try again. */
  waitForReady?: boolean;
}

/** The metadata and limits of a call, as they are sent. */
export interface Prepared {
  requestId: string;
  traceparent: string;
  token: string | undefined;
  clientIp: string | undefined;
  signals: AbortSignal[];
  /** Milliseconds of the wall clock. */
  deadline: number;
}
