import { describe, expect, it } from "vitest";
import { type PaidTransaction, type SettlementChain, settleBudgets } from "./settle-budgets.ts";

const now = new Date("2026-11-21T00:00:00Z");
const lease = { owner: "a", now, until: new Date(now.getTime() + 1000) };
const signal = new AbortController().signal;
const paid = (sequenceNumber: bigint, height: bigint) => ({
  proposer: "aa",
  keyId: 1,
  sequenceNumber,
  computation: 20n,
  fees: 30n,
  height,
});

function world({ sealed = 9n, reported = 0n as bigint | null, open = true, executed = [paid(1n, 5n)] } = {}) {
  const state = {
    height: reported,
    sealed,
    open,
    /** Another replica has the lease. */
    isElsewhere: false,
    newest: undefined as bigint | undefined,
    reports: [] as object[],
    asked: [] as [bigint, bigint][],
    dies: false,
  };
  const chain: SettlementChain = {
    chainName: "c",
    maxEventBlocks: 250n,
    latestBlock: async () => ({ height: state.sealed }),
    newestBlock: async () => ({ height: state.newest ?? state.sealed + 3n }),
    paidTransactions: async (from, to) => {
      state.asked.push([from, to]);
      return executed.filter(({ height }) => height >= from && height <= to);
    },
  };
  const store = {
    async lease(_chain: string, _lease: object, begin: bigint) {
      state.height ??= begin;
      return state.isElsewhere ? undefined : state.height;
    },
    async advance(_chain: string, { from, to }: { from: bigint; to: bigint }) {
      if (state.dies) throw new Error("died");
      if (state.height !== from) return false;
      state.height = to;
      return true;
    },
  };
  const signer = {
    begin: async () => ({ mark: now, open: state.open }),
    async settle(report: { sealedHeight: bigint; executed: readonly PaidTransaction[] }) {
      state.reports.push(report);
    },
  };
  return { state, round: () => settleBudgets({ store, signer, chain, lease }, signal) };
}

describe("settling budgets", () => {
  it("reports what was paid for, and moves the height behind it", async () => {
    const { state, round } = world();
    expect(await round()).toBe(false);
    expect(state.reports).toEqual([
      { chainName: "c", mark: now, latestHeight: 12n, sealedHeight: 9n, executed: [paid(1n, 5n)] },
    ]);
    expect(state.height).toBe(9n);
  });

  it("reports it again where it died before the height moved", async () => {
    const { state, round } = world();
    state.dies = true;
    await expect(round()).rejects.toThrow("died");
    state.dies = false;
    await round();
    expect(state.reports).toHaveLength(2);
    expect(state.reports[1]).toEqual(state.reports[0]);
  });

  it("reads nothing while nothing waits, and leaves no gap: the height is one from before the question", async () => {
    const { state, round } = world({ open: false, sealed: 150n });
    await round();
    expect(state).toMatchObject({ height: 150n, asked: [], reports: [] });
    state.sealed = 180n;
    await round();
    expect(state.height).toBe(150n);
    state.open = true;
    await round();
    expect(state.asked).toEqual([[151n, 180n]]);
  });

  it("reads nothing while another replica does, and nothing where no block is new", async () => {
    const { state, round } = world();
    state.isElsewhere = true;
    expect(await round()).toBe(false);
    state.isElsewhere = false;
    state.sealed = 0n;
    expect(await round()).toBe(false);
    expect(state).toMatchObject({ height: 0n, asked: [], reports: [] });
  });

  it("names no newest block below the sealed one, also where the node that is asked lags behind", async () => {
    const { state, round } = world();
    state.newest = 4n;
    await round();
    expect(state.reports).toMatchObject([{ latestHeight: 9n, sealedHeight: 9n }]);
  });

  it("reads in bounded stretches; a new chain begins far enough back", async () => {
    const { state, round } = world({ reported: null, sealed: 1_600n });
    expect([await round(), await round(), await round(), await round()]).toEqual([true, true, true, false]);
    expect(state.asked[0]).toEqual([601n, 850n]);
    expect(state.height).toBe(1_600n);
  });

  it("a height counts as reported with the last part of a long report", async () => {
    const many = Array.from({ length: 20_001 }, (_, i) => paid(BigInt(i), 5n));
    const { state, round } = world({ executed: many });
    await round();
    expect(state.reports.map((report) => (report as { sealedHeight: bigint }).sealedHeight)).toEqual([0n, 0n, 9n]);
  });
});
