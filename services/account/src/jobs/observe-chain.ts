import type { Clock } from "@countersign/core";
import { createReadGauge, createSagaMetrics, type Metrics } from "@countersign/runtime";
import type { ChainReadings, ObservedChain } from "../domain/ports.ts";

const UNITS_PER_FLOW = 1e8;

/**
 * Creates the metrics of chains. Returns what reads those of one chain: unfinished work, how far the watch of
 * accounts and the node are behind, and what our own accounts have left.
 */
export function observeChain(readings: ChainReadings, metrics: Metrics, clock: Clock) {
  const chainLabel = ["chain"] as const;
  const setSagas = createSagaMetrics(metrics);
  const setLag = createReadGauge(metrics, {
    name: "countersign_chain_height_lag_blocks",
    help: "Sealed blocks in which nobody has looked for changes of accounts yet",
    labelNames: chainLabel,
  });
  const setBlockAge = createReadGauge(metrics, {
    name: "countersign_chain_block_age_seconds",
    help: "Age of the newest sealed block of the access node",
    labelNames: chainLabel,
  });
  const setBalance = createReadGauge(metrics, {
    name: "countersign_chain_balance_flow",
    help: "FLOW of the accounts that pay: for transactions the paymaster, for new accounts the creator",
    labelNames: ["chain", "account"] as const,
  });

  return async (observed: ObservedChain, signal: AbortSignal): Promise<void> => {
    const { chainName: chain, creator, paymaster } = observed;
    setSagas((await readings.openSagas(chain)).map((open) => ({ chain, ...open })));
    const { height, time } = await observed.latestBlock(signal);
    const watched = (await readings.watchedHeight(chain)) ?? height;
    setLag([{ chain, value: watched < height ? Number(height - watched) : 0 }]);
    setBlockAge([{ chain, value: Math.max(0, (clock.now().getTime() - time.getTime()) / 1_000) }]);
    const flow = async (address: string) => Number(await observed.balance(address, signal)) / UNITS_PER_FLOW;
    setBalance([
      { chain, account: "paymaster", value: await flow(paymaster) },
      { chain, account: "creator", value: await flow(creator.address) },
    ]);
  };
}
