import { uuidv4 } from "@countersign/core";
import { OPEN_SAGAS_MS, type ServiceRuntime } from "@countersign/runtime";
import type { Config } from "../config.ts";
import { type SettleBudgetsOptions, type SettlementChain, settleBudgets } from "../domain/budgets/settle-budgets.ts";
import { type KeyWatchChain, type WatchKeysOptions, watchKeys } from "../domain/chain-watch/watch-keys.ts";
import type { ChainReadings, Heights, Leases, ObservedChain } from "../domain/ports.ts";
import { createAlertCounter } from "../metrics.ts";
import { followChains, forEachChain } from "./chain-follower.ts";
import { narrowRanges } from "./narrow-ranges.ts";
import { observeChain } from "./observe-chain.ts";
import { type OpenRotationsOptions, reconcileOpenRotations } from "./reconcile-open-rotations.ts";
import { reportAlerts } from "./report-alerts.ts";

/** Milliseconds between two looks for open rotations. */
const ROTATIONS_MS = 1_000;

/** Older rotations are every replica's: the one with the lease may reach the chain, and not the signer. */
const STUCK_MS = 10_000;

export interface ChainJobsOptions extends OpenRotationsOptions {
  readonly chains: ReadonlyMap<string, KeyWatchChain & ObservedChain & SettlementChain>;
  readonly onAdded: (start: (chainName: string) => void) => void;
  readonly keyWatch: WatchKeysOptions["store"] & Leases;
  readonly readings: ChainReadings;
  readonly settlements: Heights;
  readonly budgetSigner: SettleBudgetsOptions["signer"];
}

/**
 * Starts the jobs that ask chains, each chain in one of the replicas: the watch of accounts' keys, the
 * settlement of budgets, the completion of server key rotations, which every replica tries after a while, and
 * metrics.
 */
export function startChainJobs(
  runtime: Pick<ServiceRuntime, "clock" | "every" | "logger" | "metrics">,
  config: Pick<Config, "alertActions" | "keyWatchMs" | "settlementMs">,
  options: ChainJobsOptions,
): void {
  const { clock, every, logger, metrics } = runtime;
  const { chains, onAdded, keyWatch, readings, settlements, budgetSigner } = options;
  const following = { every, chains, onAdded, owner: uuidv4(), clock };
  const raised = reportAlerts({ logger, counter: createAlertCounter(metrics, chains.keys(), config.alertActions) });
  const watching = { store: keyWatch, actions: config.alertActions, raised };
  followChains({
    ...following,
    job: "key watch",
    leases: keyWatch,
    round: narrowRanges((chain, lease, signal) => watchKeys({ ...watching, chain, lease }, signal)),
    pollMs: config.keyWatchMs,
  });
  const settling = { store: settlements, signer: budgetSigner };
  followChains({
    ...following,
    job: "budget settlement",
    leases: settlements,
    round: narrowRanges((chain, lease, signal) => settleBudgets({ ...settling, chain, lease }, signal)),
    pollMs: config.settlementMs,
  });
  const reconcileOpen = reconcileOpenRotations(options);
  const reconcileStuck = reconcileOpenRotations(options);
  followChains({
    ...following,
    job: "server key rotations",
    // The watch of the chain's keys renews the lease.
    leases: keyWatch,
    round: async ({ chainName }, _lease, signal) => {
      await reconcileOpen(chainName, signal);
      return false;
    },
    pollMs: ROTATIONS_MS,
  });
  const observe = observeChain(readings, metrics, clock);
  forEachChain(following, (chainName) => {
    // The watch of the chain's keys renews the lease. After a failure the next read is no sooner.
    every(OPEN_SAGAS_MS, `metrics of ${chainName}`, async (signal) => {
      const chain = chains.get(chainName);
      if (chain && (await keyWatch.mayLease(chainName, following.owner))) await observe(chain, signal);
    });
    every(STUCK_MS, `stuck server key rotations of ${chainName}`, async (signal) => {
      if (chains.has(chainName)) await reconcileStuck(chainName, signal, new Date(clock.now().getTime() - STUCK_MS));
    });
  });
}
