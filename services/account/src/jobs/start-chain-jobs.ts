import type { ServiceRuntime } from "@countersign/runtime";

import type { Config } from "../config.ts";
import { type SettleBudgetsOptions, type SettlementChain, settleBudgets } from "../domain/budgets/settle-budgets.ts";
import { type KeyWatchChain, type WatchKeysOptions, watchKeys } from "../domain/chain-watch/watch-keys.ts";
import type { Leases } from "../domain/ports.ts";
import { createAlertCounter } from "../metrics.ts";
import { followChains } from "./chain-follower.ts";
import { reportAlerts } from "./report-alerts.ts";

export interface ChainJobsOptions {
  readonly chains: ReadonlyMap<string, KeyWatchChain & SettlementChain>;
  readonly keyWatch: WatchKeysOptions["store"] & Leases;
  readonly settlements: SettleBudgetsOptions["store"] & Leases;
  readonly budgetSigner: SettleBudgetsOptions["signer"];
}

/** Starts what reads every chain block by block: the watch of accounts' keys, the settlement of budgets. */
export function startChainJobs(runtime: ServiceRuntime, config: Config, options: ChainJobsOptions): void {
  const { clock, every, logger, metrics } = runtime;
  const { chains, keyWatch, settlements, budgetSigner } = options;
  const raised = reportAlerts({ logger, counter: createAlertCounter(metrics) });
  const watching = { store: keyWatch, actions: config.alertActions, raised };
  followChains({
    every,
    job: "key watch",
    chains,
    leases: keyWatch,
    round: (chain, lease, signal) => watchKeys({ ...watching, chain, lease }, signal),
    clock,
    pollMs: config.keyWatchMs,
  });
  const settling = { store: settlements, signer: budgetSigner };
  followChains({
    every,
    job: "budget settlement",
    chains,
    leases: settlements,
    round: (chain, lease, signal) => settleBudgets({ ...settling, chain, lease }, signal),
    clock,
    pollMs: config.settlementMs,
  });
}
