import type { CallContext } from "./context.ts";

export interface RpcCallOptions {
  /** The call on whose behalf this one is made: passes request id, trace, user token, deadline and cancellation on. */
  call?: Pick<CallContext, "requestId" | "signal"> & Partial<Pick<CallContext, "trace" | "rawToken" | "deadline">>;
  deadlineMs?: number | undefined;
  /** A user's access token, instead of the call's. */
  token?: string | undefined;
  requestId?: string | undefined;
  /** A `traceparent` header to continue. */
  traceparent?: string | undefined;
  /** Only the gateway is believed. */
  clientIp?: string | undefined;
  signal?: AbortSignal | undefined;
  /** Sending it twice does no harm: it is tried again when the other side was not there. Never for signing or submitting. */
  idempotent?: boolean;
}

/** What goes with a call. */
export interface Prepared {
  requestId: string;
  traceparent: string;
  token: string | undefined;
  clientIp: string | undefined;
  signals: AbortSignal[];
  /** Milliseconds of the wall clock. */
  deadline: number;
}
