import { type Clock, isAppError, isUuid, MAX_STATE_AGE_MS } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";
import { faultPoint } from "../fault-points.ts";

/** The signer hears of a freeze on another way and may be behind; what it still calls not frozen after so many deliveries was unfrozen since. */
const DELIVERIES_UNTIL_THAWED = 6;

/** So long after a freeze a replica of the signer may still sign that is behind with it: the most that it may be behind, and what it has in hand. */
export const HEARD_BY_ALL_MS = MAX_STATE_AGE_MS + 3_000;

export interface AccountFrozenOptions {
  readonly voidTemplates: (accountId: string) => Promise<void>;
  readonly clock: Clock;
  /** Waits so many milliseconds, or until the process stops. */
  pause(ms: number): Promise<unknown>;
}

/**
 * auth's account-frozen: voids what was signed before, at once, and again when no replica of the signer can be behind any more. Bears the same event twice, and late: the signer
 * signs only while the account is frozen.
 */
export const onAccountFrozen =
  ({ voidTemplates, clock, pause }: AccountFrozenOptions) =>
  async ({ event, attempt }: DeliveredEvent): Promise<void> => {
    const { accountId, accountFrozen, occurredAt } = event;
    if (!accountFrozen?.frozen || !isUuid(accountId)) return;
    await faultPoint("freeze received");
    let wasFrozen = false;
    try {
      const begun = clock.now();
      await voidTemplates(accountId);
      wasFrozen = true;
      await faultPoint("freeze followed");
      const left = (occurredAt ?? begun).getTime() + HEARD_BY_ALL_MS - begun.getTime();
      if (left > 0) {
        await pause(left);
        await voidTemplates(accountId);
      }
    } catch (error) {
      const thawed = isAppError(error, "SigningRefused") && error.metadata.reason === "NotFrozen";
      if (!thawed || (!wasFrozen && attempt < DELIVERIES_UNTIL_THAWED)) throw error;
    }
  };
