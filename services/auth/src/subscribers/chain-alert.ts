import { isUuid } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";
import type { holdAccount } from "../domain/freeze/hold-account.ts";
import { faultPoint } from "../fault-points.ts";

/** Freezes accounts that no transaction of ours changed on chain. A second time changes nothing, also after an operator has lifted it. */
export const onChainAlert =
  (hold: ReturnType<typeof holdAccount>) =>
  async ({ event }: DeliveredEvent): Promise<void> => {
    const { id, accountId, chainAlert } = event;
    // Coming again would not make it whole.
    if (!chainAlert?.freezes || !isUuid(accountId) || !isUuid(id)) return;
    const { chainName, transactionId, eventType } = chainAlert;
    await hold({ alertId: id, accountId, chainName, transactionId, eventType });
    await faultPoint("account held");
  };
