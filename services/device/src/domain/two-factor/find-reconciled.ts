import { AppError } from "@countersign/core";
import { findTwoFactor, type OfTwoFactor } from "./find-two-factor.ts";
import type { TwoFactorPorts } from "./ports.ts";
import { reconcileIfUnconfirmed } from "./reconcile-two-factor.ts";
import type { TwoFactor } from "./two-factor.ts";

/**
 * Returns the session's request for a decision. Writes: expires an overdue request, reconciles its attempt if
 * that is due.
 * Errors: TwoFactorAuthNotFound; those of the account service where an attempt has to be reconciled.
 */
export async function findReconciled(
  ports: TwoFactorPorts,
  { session, twoFactorId, requestId }: OfTwoFactor,
): Promise<TwoFactor> {
  const found = await findTwoFactor(ports, session.accountId, twoFactorId, requestId);
  // A decided request needs no answer from the chain.
  return found.status === "pending" ? reconcileIfUnconfirmed(ports, found, requestId) : found;
}

/** Returns whether a request that was read just now can be decided: pending, and no attempt has begun. */
export const isOpen = ({ status, attemptId }: TwoFactor): boolean => status === "pending" && attemptId === null;

/** Requires a pending request. Errors: TwoFactorAuthNotPending. */
export function requireOpen(twoFactor: TwoFactor): void {
  if (!isOpen(twoFactor)) throw notPending(twoFactor);
}

/**
 * Returns the error where another decision came first. An approval under way may still fail: then a retry
 * helps.
 */
export const notPending = ({ status }: TwoFactor): AppError =>
  new AppError("TwoFactorAuthNotPending", status === "pending" ? { retryAfterSeconds: 1 } : {});
