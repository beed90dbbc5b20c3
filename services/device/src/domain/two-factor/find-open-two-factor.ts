import { AppError } from "@countersign/core";
import { findTwoFactor, type OfTwoFactor } from "./find-two-factor.ts";
import type { TwoFactorPorts } from "./ports.ts";
import { reconcileIfUnconfirmed } from "./reconcile-two-factor.ts";
import type { TwoFactor } from "./two-factor.ts";

/**
 * Returns the session's request if it can be decided: pending, in time, and without an approval under way.
 * Errors: TwoFactorAuthNotFound, TwoFactorAuthNotPending; those of the account service where an attempt has
 * to be reconciled first.
 */
export async function findOpenTwoFactor(ports: TwoFactorPorts, { session, id, requestId }: OfTwoFactor) {
  const found = await findTwoFactor(ports, session.accountId, id, requestId);
  // A decided request is not open, which needs no answer from the chain.
  const request = found.status === "pending" ? await reconcileIfUnconfirmed(ports, found, requestId) : found;
  if (request.status !== "pending" || request.attemptId !== null) throw notPending(request);
  return request;
}

/** Another decision came first; an approval that is under way may still fail, so a retry makes sense then. */
export const notPending = (request?: TwoFactor): AppError =>
  new AppError("TwoFactorAuthNotPending", request?.status === "pending" ? { retryAfterSeconds: 1 } : {});
