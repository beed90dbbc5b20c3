import { describe, expect, it } from "vitest";
import { type KeyEvent, type KeyWatchStore, watchKeys } from "./watch-keys.ts";

const now = new Date("2026-11-21T00:00:00Z");
const lease = { owner: "a", now, until: new Date(now.getTime() + 1000) };
const signal = new AbortController().signal;

function world(events: KeyEvent[], latest: bigint, told: bigint | undefined) {
  const state = { height: told, changed: [] as [string, bigint][], asked: [] as [bigint, bigint][] };
  const store: KeyWatchStore = {
    async lease(_chain, _lease, begin) {
      state.height ??= begin;
      return state.height;
    },
    async advance(_chain, { from, to }, changed) {
      if (state.height !== from) return false;
      state.height = to;
      state.changed.push(...changed);
      return true;
    },
  };
  const chain = {
    chainName: "c",
    maxEventBlocks: 250n,
    latestBlock: async () => ({ height: latest }),
    keyEvents: async (from: bigint, to: bigint) => {
      state.asked.push([from, to]);
      return events.filter(({ height }) => height >= from && height <= to);
    },
  };
  return { state, round: () => watchKeys({ store, chain, lease }, signal) };
}

const event = (change: Partial<KeyEvent>): KeyEvent => ({
  address: "aa",
  keyIndex: 2,
  kind: "added",
  height: 5n,
  ...change,
});

describe("watching keys", () => {
  it("tells each account once a stretch, with its newest change", async () => {
    const { state, round } = world([event({}), event({ kind: "revoked", keyIndex: 1, height: 7n })], 9n, 0n);
    expect(await round()).toBe(false);
    expect(state.changed).toEqual([["aa", 7n]]);
    expect(state.height).toBe(9n);
  });

  it("leaves out the keys of a creation, and never a revocation", async () => {
    const { state, round } = world(
      [event({ keyIndex: 0 }), event({ keyIndex: 1 }), event({ address: "bb", keyIndex: 0, kind: "revoked" })],
      9n,
      0n,
    );
    await round();
    expect(state.changed).toEqual([["bb", 5n]]);
  });

  it("reads in bounded stretches and says when there is more", async () => {
    const { state, round } = world([], 600n, 10n);
    expect([await round(), await round(), await round(), await round()]).toEqual([true, true, false, false]);
    expect(state.asked).toEqual([
      [11n, 260n],
      [261n, 510n],
      [511n, 600n],
    ]);
  });

  it("begins a new chain at its newest block", async () => {
    const { state, round } = world([event({})], 9n, undefined);
    await round();
    expect(state).toMatchObject({ height: 9n, changed: [], asked: [] });
  });

  it("does nothing while another has the lease, or with a node that is behind", async () => {
    const behind = world([event({})], 9n, 12n);
    expect(await behind.round()).toBe(false);
    expect(behind.state.asked).toEqual([]);
    const { state } = world([], 9n, 0n);
    const store: KeyWatchStore = { lease: async () => undefined, advance: async () => expect.unreachable() };
    const chain = {
      chainName: "c",
      maxEventBlocks: 250n,
      latestBlock: async () => ({ height: 9n }),
      keyEvents: async () => expect.unreachable(),
    };
    expect(await watchKeys({ store, chain, lease }, signal)).toBe(false);
    expect(state.height).toBe(0n);
  });
});
