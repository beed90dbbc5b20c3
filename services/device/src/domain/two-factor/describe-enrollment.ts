import { isAppError } from "@countersign/core";
import { findTwoFactor } from "./find-two-factor.ts";
import type { TwoFactorPorts } from "./ports.ts";
import { reconcileTwoFactor } from "./reconcile-two-factor.ts";
import { type TwoFactorView, viewTwoFactor } from "./two-factor-view.ts";

/** A request of an account, named by auth. */
export interface OfEnrollment {
  accountId: string;
  /** The request's id or the id of one of its messages. */
  id: string;
  requestId: string;
}

/**
 * Returns a request for auth, which enrolls the new device once `sealedAt` is set: the key is on chain then.
 * Errors: TwoFactorAuthNotFound.
 */
export function describeEnrollment(ports: TwoFactorPorts) {
  return async ({ accountId, id, requestId }: OfEnrollment): Promise<TwoFactorView> => {
    const request = await findTwoFactor(ports, accountId, id, requestId);
    // A pending request is not reconciled: asking would end an attempt under way.
    if (request.status !== "approved") return viewTwoFactor(ports, request);
    try {
      // The new device waits for the seal: reconcile now, before the sweeper does.
      return await viewTwoFactor(ports, await reconcileTwoFactor(ports)(request, requestId));
    } catch (error) {
      if (isAppError(error)) return viewTwoFactor(ports, request);
      throw error;
    }
  };
}
