import { FixedClock } from "@countersign/core/testing";
import { expect, it } from "vitest";
import { followChains } from "./chain-follower.ts";

/** Returns the rounds of a replica whose leases answer so. */
async function roundsWith(mayLease: boolean): Promise<number> {
  let rounds = 0;
  const runs: ((signal: AbortSignal) => Promise<unknown>)[] = [];
  followChains({
    every: (_ms, _job, run) => void runs.push(run as (typeof runs)[number]),
    job: "test",
    chains: new Map([["flow", { chainName: "flow" }]]),
    onAdded: () => undefined,
    leases: { mayLease: async () => mayLease },
    owner: "",
    round: async () => {
      rounds += 1;
      return false;
    },
    clock: new FixedClock(),
    pollMs: 1_000,
  });
  for (const run of runs) expect(await run(new AbortController().signal)).toBe(false);
  return rounds;
}

it("asks a chain only where no other replica has its lease", async () => {
  expect([await roundsWith(false), await roundsWith(true)]).toEqual([0, 1]);
});
