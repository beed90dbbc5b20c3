import { AppError, uuidv4 } from "@countersign/core";
import { MAX_EARLIER_MESSAGES, secondsLeft } from "./approve-two-factor.ts";
import { findReconciled, notPending, requireOpen } from "./find-reconciled.ts";
import { findTwoFactor, type OfTwoFactor } from "./find-two-factor.ts";
import type { TwoFactorPorts } from "./ports.ts";
import { currentMessage } from "./renew-message.ts";
import { renewing } from "./two-factor-state.ts";
import { type TwoFactorView, viewIn } from "./two-factor-view.ts";

// A concurrent read may renew the message, which decides nothing: the redirection is tried again on the
// renewed one.
const MAX_TRIES = 5;

/**
 * Notifies another device of the account instead, with a new message id; the request ends when it did before.
 * Errors: TwoFactorAuthNotFound, TwoFactorAuthNotPending, DeviceNotFound; RateLimited after
 * MAX_EARLIER_MESSAGES: a thief's phone could make each message that the approver has read an earlier one.
 */
export function redirectTwoFactor(ports: TwoFactorPorts) {
  return async (command: OfTwoFactor & { destDeviceId: string }): Promise<TwoFactorView> => {
    const { session, twoFactorId, destDeviceId, requestId } = command;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const twoFactor = await findReconciled(ports, command);
      requireOpen(twoFactor);
      const live = await ports.devices.listLive(session.accountId);
      if (!live.some(({ id }) => id === destDeviceId)) throw new AppError("DeviceNotFound");

      const earlier = await ports.requests.earlierMessages(twoFactor, MAX_EARLIER_MESSAGES);
      if (earlier.length >= MAX_EARLIER_MESSAGES)
        throw new AppError("RateLimited", { retryAfterSeconds: secondsLeft(twoFactor, ports.clock.now()) });

      const message = await currentMessage(ports, twoFactor);
      const now = ports.clock.now();
      const step = renewing(twoFactor, { messageId: uuidv4(), message, destDeviceId }, now);
      const redirected = await ports.requests.take(twoFactor.id, step, { occurredAt: now, requestId });
      if (redirected) return viewIn(live, redirected, session.deviceKey);
    }
    throw notPending(await findTwoFactor(ports, session.accountId, twoFactorId, requestId));
  };
}
