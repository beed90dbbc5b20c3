import { isAppError } from "@countersign/core";
import { findTwoFactor } from "./find-two-factor.ts";
import type { TwoFactorPorts } from "./ports.ts";
import { settleTwoFactor } from "./reconcile-two-factor.ts";
import { type TwoFactorView, viewTwoFactor } from "./two-factor-view.ts";

export interface OfEnrollment {
  accountId: string;
  /** The request's id or any of its request ids. */
  id: string;
  requestId: string;
}

/** A request as whoever admits the new device must know it; the key is on chain where `sealedAt` is set. Errors: TwoFactorAuthNotFound. */
export function describeEnrollment(ports: TwoFactorPorts) {
  return async ({ accountId, id, requestId }: OfEnrollment): Promise<TwoFactorView> => {
    const request = await findTwoFactor(ports, accountId, id, requestId);
    // A pending request is not reconciled: asking would end an attempt under way.
    if (request.status !== "approved") return viewTwoFactor(ports, request);
    try {
      // Somebody waits for the seal: sooner than the sweeper looks.
      return await viewTwoFactor(ports, await settleTwoFactor(ports)(request, requestId));
    } catch (error) {
      if (isAppError(error)) return viewTwoFactor(ports, request);
      throw error;
    }
  };
}
