import type { CallContext } from "./context.ts";

export interface RpcCallOptions {
  /**
   * The incoming call that this one is part of: its request id, trace, user token, deadline and cancellation
   * are passed on.
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
  signal?: AbortSignal | undefined;
  /**
   * Sending it twice is harmless: the client retries when the other side is unavailable. Never for signing or
   * submitting.
   */
  idempotent?: boolean;
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
