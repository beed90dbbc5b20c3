import { type Clock, isUuid } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";
import type { HoldStore } from "../domain/freeze/holds.ts";

/**
 * Handles chain-alert: freezes an account that no transaction of ours changed. Idempotent, also once it was
 * lifted.
 */
export const onChainAlert =
  ({ holds, clock }: { readonly holds: HoldStore; readonly clock: Clock }) =>
  async ({ event }: DeliveredEvent): Promise<void> => {
    const { id, accountId, chainAlert } = event;
    // An incomplete event stays so when it is delivered again.
    if (!chainAlert?.freezes || !isUuid(accountId) || !isUuid(id)) return;
    const { chainName, transactionId, eventType } = chainAlert;
    await holds.place({ alertId: id, accountId, chainName, transactionId, eventType }, clock.now());
  };
