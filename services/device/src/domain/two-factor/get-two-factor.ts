import { findTwoFactor, type OfTwoFactor } from "./find-two-factor.ts";
import type { TwoFactorPorts } from "./ports.ts";
import { renewMessage } from "./renew-message.ts";
import { type TwoFactorView, viewTwoFactor } from "./two-factor-view.ts";

/**
 * Returns a request of the session's account with a message that can be signed now. Errors:
 * TwoFactorAuthNotFound.
 */
export function getTwoFactor(ports: TwoFactorPorts) {
  return async ({ session, twoFactorId, requestId }: OfTwoFactor): Promise<TwoFactorView> => {
    const found = await findTwoFactor(ports, session.accountId, twoFactorId, requestId);
    return viewTwoFactor(ports, await renewMessage(ports, found, requestId), session.deviceKey);
  };
}
