import { systemClock } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { createLogger, createMetrics } from "@countersign/runtime";
import { expect, it, vi } from "vitest";
import type { Lease } from "../domain/ports.ts";
import type { OpenRotationsPage, ServerKeyRotation } from "../domain/server-keys/server-key-rotation.ts";
import { type ChainJobsOptions, startChainJobs } from "./start-chain-jobs.ts";

const chainName = "flow";
const of = (name: string) => ({ chainName: name }) as ServerKeyRotation;

/** Runs each job of a replica once. Returns what asked the chain, or made the domain ask it. */
async function asked({ hasLease }: { hasLease: boolean }): Promise<string[]> {
  const asking: string[] = [];
  const owners = new Set<string>();
  const leases = {
    async mayLease(_chainName: string, owner: string) {
      owners.add(owner);
      return hasLease;
    },
    lease: async () => undefined,
  };
  const chain = {
    chainName,
    maxEventBlocks: 250n,
    creator: { address: "01" },
    paymaster: "02",
    latestBlock: async () => {
      asking.push("latestBlock");
      return { height: 5n, time: new Date() };
    },
    balance: async (address: string) => {
      asking.push(`balance of ${address}`);
      return 1n;
    },
  };
  const options = {
    chains: new Map([[chainName, chain]]),
    onAdded: () => undefined,
    keyWatch: leases,
    settlements: leases,
    readings: { openSagas: async () => [], watchedHeight: async () => 5n },
    // A new one: no replica asks for it without the lease.
    rotations: { open: async (on: string, _limit: number, { before }: OpenRotationsPage) => (before ? [] : [of(on)]) },
    reconcile: async (rotation: ServerKeyRotation) => {
      asking.push(`rotation on ${rotation.chainName}`);
      return "submitted";
    },
  } as unknown as ChainJobsOptions;
  const runs: ((signal: AbortSignal) => Promise<unknown>)[] = [];
  const runtime = {
    every: (_ms: number, _job: string, run: (signal: AbortSignal) => Promise<unknown>) => void runs.push(run),
    clock: new FixedClock(),
    logger: createLogger({ name: "test", level: "silent" }),
    metrics: createMetrics("test"),
  };
  startChainJobs(runtime, { alertActions: new Map(), keyWatchMs: 1_000, settlementMs: 1_000 } as never, options);
  for (const run of runs) await run(new AbortController().signal);
  // The lease that one job renews is the other's too.
  expect(owners.size).toBe(1);
  return asking;
}

it("asks a chain, also for open rotations, only where no other replica has its lease", async () => {
  expect(await asked({ hasLease: false })).toEqual([]);
  expect(await asked({ hasLease: true })).toEqual([
    "latestBlock",
    "latestBlock",
    "rotation on flow",
    "latestBlock",
    "balance of 02",
    "balance of 01",
  ]);
});

it("a rotation that the replica with the lease cannot complete is completed by another one", async () => {
  vi.useFakeTimers();
  const committedAt = Date.now();
  const lease = { owner: "", until: 0 };
  const isFree = (owner: string) => lease.owner === owner || lease.until < Date.now();
  const keyWatch = {
    mayLease: async (_chainName: string, owner: string) => isFree(owner),
    async lease(_chainName: string, asked: Lease) {
      if (!isFree(asked.owner)) return undefined;
      Object.assign(lease, { owner: asked.owner, until: asked.until.getTime() });
      return 5n;
    },
  };
  const tries = { holder: 0, other: 0 };
  const every = (ms: number, _job: string, run: (signal: AbortSignal) => Promise<unknown>, retryMs = ms) => {
    const once = async () => {
      const waitMs = await run(AbortSignal.timeout(60_000)).then(
        () => ms,
        () => retryMs,
      );
      setTimeout(once, waitMs);
    };
    void once();
  };
  const start = (name: keyof typeof tries, reconcile: () => Promise<string>) => {
    const logger = createLogger({ name: "test", level: "silent" });
    const runtime = { every, clock: systemClock, logger, metrics: createMetrics("test") };
    const options = {
      chains: new Map([[chainName, { chainName, maxEventBlocks: 250n, latestBlock: async () => ({ height: 5n }) }]]),
      onAdded: () => undefined,
      keyWatch,
      settlements: { mayLease: async () => false },
      readings: { openSagas: async () => Promise.reject(new Error("not read here")) },
      rotations: {
        open: async (on: string, _limit: number, { before = new Date() }: OpenRotationsPage) =>
          committedAt < +before ? [of(on)] : [],
      },
      reconcile: () => {
        tries[name] += 1;
        return reconcile();
      },
    } as unknown as ChainJobsOptions;
    const config = { alertActions: new Map(), keyWatchMs: 500, settlementMs: 60_000 };
    startChainJobs(runtime as never, config as never, options);
  };
  try {
    start("holder", async () => Promise.reject(new Error("the signer is unreachable")));
    await vi.advanceTimersByTimeAsync(300);
    start("other", async () => "sealed");
    await vi.advanceTimersByTimeAsync(8_000);
    expect(tries.other).toBe(0);
    await vi.advanceTimersByTimeAsync(13_000);
    expect(tries.holder).toBeGreaterThan(1);
    expect(tries.other).toBeGreaterThan(0);
  } finally {
    vi.useRealTimers();
  }
});

it("watches keys and settles budgets also where many blocks are too much for one answer", async () => {
  const heights = { keys: 0n, budgets: 0n };
  const read = async (from: bigint, to: bigint) => {
    if (to - from >= 10n) throw new Error("too much for one answer");
    return [];
  };
  const storeOf = (name: keyof typeof heights) => ({
    mayLease: async () => true,
    lease: async () => heights[name],
    advance: async (_: string, { to }: { to: bigint }) => {
      heights[name] = to;
      return true;
    },
  });
  const latest = async () => ({ height: 300n, time: new Date() });
  const chain = {
    ...{ chainName, maxEventBlocks: 250n, latestBlock: latest, newestBlock: latest, paidTransactions: read },
    accountEvents: (_: unknown, from: bigint, to: bigint) => read(from, to),
  };
  const options = {
    chains: new Map([[chainName, chain]]),
    onAdded: () => undefined,
    keyWatch: storeOf("keys"),
    settlements: storeOf("budgets"),
    budgetSigner: { begin: async () => ({ mark: new Date(), open: true }), settle: async () => undefined },
  } as unknown as ChainJobsOptions;
  const runs: ((signal: AbortSignal) => Promise<unknown>)[] = [];
  const runtime = {
    every: (_ms: number, job: string, run: (signal: AbortSignal) => Promise<unknown>) => {
      if (/^(key watch|budget settlement) /.test(job)) runs.push(run);
    },
    clock: new FixedClock(),
    logger: createLogger({ name: "test", level: "silent" }),
    metrics: createMetrics("test"),
  };
  const alertActions = { keys: "freeze", contracts: "off", "account-capabilities": "off", inbox: "off" };
  startChainJobs(runtime, { alertActions, keyWatchMs: 1_000, settlementMs: 1_000 } as never, options);
  for (let round = 0; round < 100; round++)
    for (const run of runs) await run(new AbortController().signal).catch(() => undefined);
  expect(heights).toEqual({ keys: 300n, budgets: 300n });
});
