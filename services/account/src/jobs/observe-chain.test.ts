import { uuidv4, uuidv7 } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { createMetrics } from "@countersign/runtime";
import { expect, it } from "vitest";
import type { CreationStore } from "../domain/ports.ts";
import { withCreationSeconds } from "../metrics.ts";
import { observeChain } from "./observe-chain.ts";

const clock = new FixedClock("2026-11-20T10:00:00Z");
const { signal } = new AbortController();

it("exports unfinished work, how far behind the watch and the node are, and balances", async () => {
  const metrics = createMetrics("account", { defaults: false });
  const readings = {
    openSagas: async () => [{ saga: "deployment", state: "queued", count: 3, oldest: 12.5 }],
    watchedHeight: async () => 93n,
  };
  const chain = {
    chainName: "flow",
    creator: { address: "01" },
    paymaster: "02",
    latestBlock: async () => ({ height: 100n, time: new Date("2026-11-20T09:59:56Z") }),
    balance: async (address: string) => (address === "01" ? 150_000_000n : 25_000_000n),
  };
  await observeChain(readings, metrics, clock)(chain, signal);
  const text = await metrics.registry.metrics();
  const open = 'chain="flow",saga="deployment",state="queued",service="account"';
  expect(text).toContain(`countersign_open_sagas{${open}} 3\n`);
  expect(text).toContain(`countersign_open_saga_oldest_seconds{${open}} 12.5\n`);
  expect(text).toContain('countersign_chain_height_lag_blocks{chain="flow",service="account"} 7\n');
  expect(text).toContain('countersign_chain_block_age_seconds{chain="flow",service="account"} 4\n');
  expect(text).toContain('countersign_chain_balance_flow{chain="flow",account="creator",service="account"} 1.5\n');
  expect(text).toContain('countersign_chain_balance_flow{chain="flow",account="paymaster",service="account"} 0.25\n');
});

it("a creation's seconds count from its assignment to the commit of its end, once", async () => {
  const metrics = createMetrics("account", { defaults: false });
  const commits = [true, false];
  const store = { sealed: async () => commits.shift() } as unknown as CreationStore;
  const later = new FixedClock("2026-11-20T10:00:04Z");
  const timed = withCreationSeconds(store, metrics, later);
  const end = () => timed.sealed(uuidv7(clock), uuidv4(), [], { evmChainId: 1, now: later.now() });
  expect([await end(), await end()]).toEqual([true, false]);
  const text = await metrics.registry.metrics();
  expect(text).toContain('countersign_account_creation_seconds_sum{service="account",outcome="sealed"} 4\n');
  expect(text).toContain('countersign_account_creation_seconds_count{service="account",outcome="sealed"} 1\n');
});
