import { isAppError } from "@countersign/errors";
import type { DeliveredEvent } from "@countersign/outbox";
import { isUuid } from "@countersign/service-kit";
import { faultPoint } from "../fault-points.ts";

export const ACCOUNT_FROZEN_SUBJECT = "cs.v1.auth.*.account-frozen";
export const ACCOUNT_FROZEN_DURABLE = "account-account-frozen";

/** The signer hears of a freeze on another way and may be behind; what it still calls not frozen after so many deliveries was unfrozen since. */
const DELIVERIES_UNTIL_THAWED = 6;

/** auth's account-frozen: voids what was signed before. Bears the same event twice, and late: the signer signs only while the account is frozen. */
export const onAccountFrozen =
  (voidTemplates: (accountId: string) => Promise<void>) =>
  async ({ event, attempt }: DeliveredEvent): Promise<void> => {
    const { accountId, accountFrozen } = event;
    if (!accountFrozen?.frozen || !isUuid(accountId)) return;
    await faultPoint("freeze heard of");
    try {
      await voidTemplates(accountId);
    } catch (error) {
      const thawed = isAppError(error, "SigningRefused") && error.metadata.reason === "NotFrozen";
      if (!thawed || attempt < DELIVERIES_UNTIL_THAWED) throw error;
    }
    await faultPoint("freeze followed");
  };
