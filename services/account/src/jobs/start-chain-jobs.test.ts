import { FixedClock } from "@countersign/core";
import { createLogger, createMetrics } from "@countersign/runtime";
import { expect, it } from "vitest";
import type { Lease } from "../domain/ports.ts";
import type { ServerKeyRotation } from "../domain/server-keys/server-key-rotation.ts";
import { type ChainJobsOptions, startChainJobs } from "./start-chain-jobs.ts";

const chainName = "flow";
const of = (name: string) => ({ chainName: name }) as ServerKeyRotation;

/** Runs each job of a replica once. Returns what asked the chain, or made the domain ask it. */
async function asked({ hasLease }: { hasLease: boolean }): Promise<string[]> {
  const asking: string[] = [];
  const owners = new Set<string>();
  const leases = {
    async mayLease(_chainName: string, { owner }: Lease) {
      owners.add(owner);
      return hasLease;
    },
    lease: async () => undefined,
  };
  const chain = {
    chainName,
    latestBlock: async () => {
      asking.push("latestBlock");
      return { height: 5n };
    },
  };
  const options = {
    chains: new Map([[chainName, chain]]),
    keyWatch: leases,
    settlements: leases,
    rotations: { open: async (on: string) => [of(on)] },
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
  expect(await asked({ hasLease: true })).toEqual(["latestBlock", "latestBlock", "rotation on flow"]);
});
