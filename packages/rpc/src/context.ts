import { AppError, type Logger, type Reason, type TraceParent, type VerifiedToken } from "@countersign/core";

/** Who calls, and what belongs to the call. Only `caller` (certificate) and `token` (verified) say who somebody is. */
export interface CallContext {
  /** The name in the caller's certificate, for example "gateway". */
  caller: string;
  requestId: string;
  trace: TraceParent;
  /** The user's token, where the RPC's row in peers.json asks for one. */
  token?: VerifiedToken;
  /** The same as it came, for the services behind. */
  rawToken?: string;
  /** Why the token that was sent does not count, on an RPC whose token is optional. */
  tokenRefusal?: Reason;
  /** The client's address; only from the gateway. */
  clientIp?: string;
  /** Aborts when the caller goes away or the deadline passes. */
  signal: AbortSignal;
  /** Aborts when the process begins to stop: a stream that could go on for ever should end by itself. */
  draining?: AbortSignal;
  deadline?: Date;
  logger: Logger;
}

/** The call's verified token. Errors: Unauthenticated where the RPC's row in peers.json asks for none. */
export function requireToken(call: Pick<CallContext, "token">): VerifiedToken {
  if (call.token === undefined) throw new AppError("Unauthenticated");
  return call.token;
}
