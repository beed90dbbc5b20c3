import { AppError } from "@countersign/core";
import { findTwoFactor, type OfTwoFactor } from "./find-two-factor.ts";
import type { TwoFactorPorts } from "./ports.ts";
import { settleIfDoubtful } from "./reconcile-two-factor.ts";
import type { TwoFactor } from "./two-factor.ts";

/**
 * The session's request, on which somebody may decide: pending, in time, and without an approval under way.
 * Errors: TwoFactorAuthNotFound, TwoFactorAuthNotPending; what the account service says where an attempt has to be settled first.
 */
export async function findOpenTwoFactor(ports: TwoFactorPorts, { session, id, requestId }: OfTwoFactor) {
  const found = await findTwoFactor(ports, session.accountId, id, requestId);
  // A decided request is not open, and needs no answer of the chain to say so.
  const request = found.status === "pending" ? await settleIfDoubtful(ports, found, requestId) : found;
  if (request.status !== "pending" || request.attemptId !== null) throw notPending(request);
  return request;
}

/** Somebody else was first. While an approval is under way it is worth asking again. */
export const notPending = (request?: TwoFactor): AppError =>
  new AppError("TwoFactorAuthNotPending", request?.status === "pending" ? { retryAfterSeconds: 1 } : {});
