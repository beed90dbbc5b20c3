import type { ConsumerOptions, DeliveredEvent } from "@countersign/outbox";
import { isUuid } from "@countersign/service-kit";
import type { holdAccount } from "../domain/hold-account.ts";
import { faultPoint } from "../fault-points.ts";

/** What the events come by. */
export const CHAIN_ALERTS = {
  durable: "auth-chain-alerts",
  filter: "cs.v1.account.*.chain-alert",
  // One in five minutes is a week, for which the stream keeps it: an alert is never given up.
  maxDeliver: 2_100,
  // In whatever order they come; not so many that those of one account, which wait for each other, take all connections.
  concurrency: 3,
} satisfies Partial<ConsumerOptions>;

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
