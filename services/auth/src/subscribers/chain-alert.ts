import { isUuid } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";
import type { holdAccount } from "../domain/freeze/hold-account.ts";

/**
 * Handles chain-alert: freezes an account that no transaction of ours changed. Idempotent, also once it was
 * lifted.
 */
export const onChainAlert =
  (hold: ReturnType<typeof holdAccount>) =>
  async ({ event }: DeliveredEvent): Promise<void> => {
    const { id, accountId, chainAlert } = event;
    // An incomplete event stays so when it is delivered again.
    if (!chainAlert?.freezes || !isUuid(accountId) || !isUuid(id)) return;
    const { chainName, transactionId, eventType } = chainAlert;
    await hold({ alertId: id, accountId, chainName, transactionId, eventType });
  };
