import { AppError } from "@countersign/core";
import type { OfEnrollment } from "./describe-enrollment.ts";
import { findTwoFactor } from "./find-two-factor.ts";
import type { TwoFactorPorts } from "./ports.ts";
import type { TwoFactorStatus } from "./two-factor.ts";
import { finishing } from "./two-factor-state.ts";
import { type TwoFactorView, viewTwoFactor } from "./two-factor-view.ts";

const RETRY_SOON = { retryAfterSeconds: 1 };

const refusals: Record<TwoFactorStatus, () => AppError> = {
  pending: () => new AppError("TwoFactorAuthPending", RETRY_SOON),
  // The chain has not sealed the transaction yet.
  approved: () => new AppError("TwoFactorAuthPending", RETRY_SOON),
  rejected: () => new AppError("TwoFactorAuthRejected"),
  expired: () => new AppError("TwoFactorAuthExpired"),
  finished: () => new AppError("TwoFactorAuthFinished"),
  failed: () => new AppError("TwoFactorAuthFailed"),
};

/**
 * Marks an approved and sealed request as finished; one of two concurrent calls does.
 * Errors: TwoFactorAuthNotFound; TwoFactorAuthPending, -Rejected, -Expired, -Finished or -Failed by its
 * status.
 */
export function finishTwoFactor(ports: TwoFactorPorts) {
  return async ({ accountId, id, requestId }: OfEnrollment): Promise<TwoFactorView> => {
    const request = await findTwoFactor(ports, accountId, id, requestId);
    const context = { occurredAt: ports.clock.now(), requestId };
    const finished = await ports.requests.take(request.id, finishing, context);
    if (finished) return viewTwoFactor(ports, finished);
    const { status } = await findTwoFactor(ports, accountId, id, requestId);
    throw refusals[status]();
  };
}
