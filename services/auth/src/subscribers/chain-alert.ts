import type { DeliveredEvent } from "@countersign/outbox";
import { isUuid } from "@countersign/service-kit";
import type { holdAccount } from "../domain/hold-account.ts";
import { faultPoint } from "../fault-points.ts";

export const CHAIN_ALERT_DURABLE = "auth-chain-alerts";
export const CHAIN_ALERT_SUBJECT = "cs.v1.account.*.chain-alert";
/** One in five minutes is a week, for which the stream keeps it: an alert is never given up. */
export const CHAIN_ALERT_DELIVERIES = 2_100;

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
