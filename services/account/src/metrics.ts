import type { Metrics } from "@countersign/runtime";
import { Counter } from "prom-client";

/** Counts what no transaction of ours did to an account of ours; each is for an operator to look at. */
export const createAlertCounter = ({ registry }: Metrics) =>
  new Counter({
    name: "countersign_account_chain_alerts_total",
    help: "Events of our accounts on chain that no transaction of ours caused",
    labelNames: ["chain", "kind", "frozen"] as const,
    registers: [registry],
  });
