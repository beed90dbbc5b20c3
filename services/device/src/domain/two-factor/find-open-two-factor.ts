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
export async function findOpenTwoFactor(ports: TwoFactorPorts, { session, twoFactorId, requestId }: OfTwoFactor) {
  const found = await findTwoFactor(ports, session.accountId, twoFactorId, requestId);
  // A decided request is not open, which needs no answer from the chain.
  const twoFactor = found.status === "pending" ? await reconcileIfUnconfirmed(ports, found, requestId) : found;
  if (twoFactor.status !== "pending" || twoFactor.attemptId !== null) throw notPending(twoFactor);
  return twoFactor;
}

/** Another decision came first; an approval that is under way may still fail, so a retry makes sense then. */
export const notPending = (twoFactor?: TwoFactor): AppError =>
  new AppError("TwoFactorAuthNotPending", twoFactor?.status === "pending" ? { retryAfterSeconds: 1 } : {});
