import { AppError } from "@countersign/core";
import { findReconciled, notPending, requireOpen } from "./find-reconciled.ts";
import { type OfTwoFactor, takeOrFind } from "./find-two-factor.ts";
import { type OpenTwoFactorOptions, REJECTION_COUNTS_MS } from "./open-two-factor.ts";
import type { TwoFactorPorts } from "./ports.ts";
import type { TwoFactor } from "./two-factor.ts";
import { rejecting } from "./two-factor-state.ts";

interface RejectTwoFactor extends OfTwoFactor {
  /** A recovery key's session: a stolen backup must not close the account to the owner's new devices. */
  inRecovery: boolean;
}

interface RejectPorts extends TwoFactorPorts {
  limits: Pick<OpenTwoFactorOptions["limits"], "rejections">;
}

/**
 * Rejects a request for good. Succeeds again for the device that rejected it, whose first answer may be lost.
 * Errors: TwoFactorAuthNotFound, TwoFactorAuthNotPending, TimeLockContested.
 *
 * Writes: the rejection with its event, in one commit.
 * Race: the first decision is taken; a rejection never interrupts an approval that has begun. Rejections at
 * once may exceed the limit by the requests that are pending.
 */
export function rejectTwoFactor(ports: RejectPorts) {
  return async (command: RejectTwoFactor): Promise<void> => {
    const { session, inRecovery, requestId } = command;
    const rejectedByKey = `${session.deviceKey.algorithm} ${session.deviceKey.publicKey}`;
    const found = await findReconciled(ports, command);
    if (found.rejectedByKey === rejectedByKey) return;
    requireOpen(found);
    if (found.openedInRecovery && !inRecovery) await requireFewRejections(ports, found);

    const now = ports.clock.now();
    const step = rejecting(now, rejectedByKey, inRecovery);
    const decided = await takeOrFind(ports, found, step, { occurredAt: now, requestId });
    if (decided.rejectedByKey !== rejectedByKey) throw notPending(decided);
  };
}

/**
 * Requires that devices have rejected few requests of the account in a day: a thief's phone could reject each
 * one of the recovery key's owner. Reopening, which the phone may do too, does not reset the count. A device
 * still cancels the time lock. Errors: TimeLockContested.
 */
async function requireFewRejections({ requests, clock, limits }: RejectPorts, { accountId }: TwoFactor): Promise<void> {
  const since = new Date(clock.now().getTime() - REJECTION_COUNTS_MS);
  const rejected = await requests.withAccount(accountId, (account) => account.countRejectedAfter(since));
  if (rejected < limits.rejections) return;
  const detail = `devices reject ${limits.rejections} requests in a day while the recovery key has a session`;
  throw new AppError("TimeLockContested", { detail });
}
