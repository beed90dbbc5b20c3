import { AppError, type Logger, type Reason, type TraceParent, type VerifiedToken } from "@countersign/core";

/**
 * The caller and the metadata of a call. Only `caller` and `person` (certificate) and `token` (verified)
 * are proof of an identity.
 */
export interface CallContext {
  /** The name in the caller's certificate, for example "gateway". */
  caller: string;
  /** The person in the certificate; set for administrators only, and always. */
  person?: string;
  requestId: string;
  trace: TraceParent;
  /** The user's token, where the RPC's row in peers.json requires one, or allows one and it is valid. */
  token?: VerifiedToken;
  /** The account that the call is about, for the log; set by handlers where no token or request names it. */
  accountId?: string;
  /** The unparsed token, to pass on to other services. */
  rawToken?: string;
  /** Why the token was rejected, on an RPC whose token is optional. */
  tokenRefusal?: Reason;
  /** The client's address; set for calls of the gateway only. */
  clientIp?: string;
  /**
   * Aborts when nobody waits for the answer any more: the caller has gone away, the deadline has passed, the
   * token of a stream is no longer valid, the server stops, or the call has failed.
   */
  signal: AbortSignal;
  /** Set for streams: aborts when the process begins to stop. An endless stream should then end itself. */
  draining?: AbortSignal;
  deadline?: Date;
  logger: Logger;
  /**
   * Verifies the token of a stream's request that is another RPC's, by that RPC's row. Errors:
   * CallerNotAllowed, InsufficientScope, InvalidAccessToken, ….
   */
  tokenFor(rpc: string, raw: string): VerifiedToken;
}

/** Returns a function that names the account that a call is about. */
export const accountOf =
  (call: Pick<CallContext, "accountId">) =>
  (accountId: string): void => {
    call.accountId = accountId;
  };

/**
 * Returns the call's verified token. Errors: Unauthenticated where the RPC's row in peers.json requires none.
 */
export function requireToken(call: Pick<CallContext, "token">): VerifiedToken {
  if (call.token === undefined) throw new AppError("Unauthenticated");
  return call.token;
}
