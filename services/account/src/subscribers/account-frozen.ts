import { type Clock, isAppError, isUuid, MAX_STATE_AGE_MS } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";

/**
 * The signer receives a freeze separately and may be behind; after this many deliveries the account was
 * unfrozen since.
 */
const DELIVERIES_UNTIL_UNFROZEN = 6;

/**
 * How long a replica of the signer may still sign after a freeze: the age of its state, and the call that it
 * has begun.
 */
export const ALL_SIGNERS_INFORMED_MS = MAX_STATE_AGE_MS + 3_000;

export interface AccountFrozenOptions {
  readonly voidTemplates: (accountId: string) => Promise<void>;
  readonly clock: Clock;
  /** Waits so many milliseconds, or until the process stops. */
  pause(ms: number): Promise<unknown>;
}

/**
 * auth's account-frozen: voids what was signed before, at once, and again when no replica of the signer can
 * be behind any more. Bears the same event twice, and late: the signer signs only while the account is
 * frozen.
 */
export const onAccountFrozen =
  ({ voidTemplates, clock, pause }: AccountFrozenOptions) =>
  async ({ event, attempt }: DeliveredEvent): Promise<void> => {
    const { accountId, accountFrozen, occurredAt } = event;
    if (!accountFrozen?.frozen || !isUuid(accountId)) return;
    let wasFrozen = false;
    try {
      const begun = clock.now();
      await voidTemplates(accountId);
      wasFrozen = true;
      const left = (occurredAt ?? begun).getTime() + ALL_SIGNERS_INFORMED_MS - begun.getTime();
      if (left > 0) {
        await pause(left);
        await voidTemplates(accountId);
      }
    } catch (error) {
      const isUnfrozen = isAppError(error, "SigningRefused") && error.metadata.reason === "NotFrozen";
      if (!isUnfrozen || (!wasFrozen && attempt < DELIVERIES_UNTIL_UNFROZEN)) throw error;
    }
  };
