import { AppError } from "@countersign/core";
import type { TwoFactorPorts } from "./ports.ts";
import type { TwoFactor } from "./two-factor.ts";

/** Wrong signatures and transactions that one request bears. */
export const WRONG_APPROVALS = 5;

const exhausted = ({ expiresAt }: TwoFactor, now: Date): AppError => {
  const seconds = Math.ceil((expiresAt.getTime() - now.getTime()) / 1000);
  return new AppError("RateLimited", { retryAfterSeconds: Math.max(1, seconds) });
};

/** Errors: RateLimited after too many wrong approvals, until the request is over. */
export function requireApprovalsLeft(request: TwoFactor, now: Date): void {
  if (request.wrongApprovals >= WRONG_APPROVALS) throw exhausted(request, now);
}

/** Counts a wrong approval and gives the error to throw: `error`, or RateLimited where others used up the last try. */
export async function wrongApproval(
  { requests, clock }: Pick<TwoFactorPorts, "requests" | "clock">,
  request: TwoFactor,
  error: AppError,
): Promise<AppError> {
  const counted = await requests.countWrongApproval(request.id, WRONG_APPROVALS);
  return counted ? error : exhausted(request, clock.now());
}
