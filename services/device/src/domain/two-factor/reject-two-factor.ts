import { findReconciled, notPending, requireOpen } from "./find-reconciled.ts";
import { findTwoFactor, type OfTwoFactor } from "./find-two-factor.ts";
import type { TwoFactorPorts } from "./ports.ts";
import { rejecting } from "./two-factor-state.ts";

interface RejectTwoFactor extends OfTwoFactor {
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
  return async (command: RejectTwoFactor): Promise<void> => {
    const { session, inRecovery, requestId } = command;
    const rejectedByKey = `${session.deviceKey.algorithm} ${session.deviceKey.publicKey}`;
    const found = await findReconciled(ports, command);
    if (found.rejectedByKey === rejectedByKey) return;
    requireOpen(found);

    const now = ports.clock.now();
    const step = rejecting(now, rejectedByKey, inRecovery);
    const decided =
      (await ports.requests.take(found.id, step, { occurredAt: now, requestId })) ??
      (await findTwoFactor(ports, session.accountId, found.id, requestId));
    if (decided.rejectedByKey !== rejectedByKey) throw notPending(decided);
  };
}
