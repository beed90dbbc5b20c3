import { isAppError } from "@countersign/core";
import { findOpenTwoFactor, notPending } from "./find-open-two-factor.ts";
import { findTwoFactor, type OfTwoFactor } from "./find-two-factor.ts";
import type { TwoFactorPorts } from "./ports.ts";
import { rejecting } from "./two-factor-state.ts";

export interface RejectTwoFactor extends OfTwoFactor {
  /** A recovery key's session: a stolen backup must not close the account to the owner's new devices. */
  inRecovery: boolean;
}

/**
 * Rejects a request for good. Succeeds again for the device that rejected it, whose first answer may be lost.
 * Errors: TwoFactorAuthNotFound, TwoFactorAuthNotPending.
 *
 * Writes: the rejection with its event, in one commit.
 * Race: the first decision is taken; a rejection never interrupts an approval that has begun.
 */
export function rejectTwoFactor(ports: TwoFactorPorts) {
  const rejectOpen = async (command: RejectTwoFactor, rejectedByKey: string): Promise<void> => {
    const twoFactor = await findOpenTwoFactor(ports, command);
    const now = ports.clock.now();
    const context = { occurredAt: now, requestId: command.requestId };
    const step = rejecting(now, rejectedByKey, command.inRecovery);
    if (!(await ports.requests.take(twoFactor.id, step, context))) throw notPending();
  };

  return async (command: RejectTwoFactor): Promise<void> => {
    const { session, twoFactorId, requestId } = command;
    const rejectedByKey = `${session.deviceKey.algorithm} ${session.deviceKey.publicKey}`;
    try {
      await rejectOpen(command, rejectedByKey);
    } catch (error) {
      if (!isAppError(error, "TwoFactorAuthNotPending")) throw error;
      const found = await findTwoFactor(ports, session.accountId, twoFactorId, requestId);
      if (found.rejectedByKey !== rejectedByKey) throw error;
    }
  };
}
