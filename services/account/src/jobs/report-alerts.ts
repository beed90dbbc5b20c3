import type { Logger } from "@countersign/core";
import type { Counter } from "prom-client";
import type { Alert } from "../domain/chain-watch/find-alerts.ts";

/** Counts and logs alerts that were committed. */
export const reportAlerts =
  ({ logger, counter }: { logger: Logger; counter: Counter<"chain" | "kind" | "frozen"> }) =>
  (chainName: string, alerts: readonly Alert[]): void => {
    for (const { accountId, event, kind, freezes } of alerts) {
      counter.inc({ chain: chainName, kind, frozen: String(freezes) });
      const { type, transactionId, height: blockHeight } = event;
      const what = { component: "chain-watch", accountId, chainName, event: type, transactionId, blockHeight };
      const message = "an account was changed on chain by no transaction of ours";
      logger.warn(what, freezes ? `${message}; it is under review` : message);
    }
  };
