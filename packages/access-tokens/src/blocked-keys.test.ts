import { AppError, BLOCK_SENT_MS } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import { publicKeyToProto } from "@countersign/rpc";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createBlockedKeys } from "./blocked-keys.ts";
import { createTokenState, type WritableTokenState } from "./state.ts";
import { accountId, entry, sessionId as otherAccountId, watchMessage } from "./testing/samples.ts";

const HOUR_MS = 3_600_000;
const keyOf = (i: number): PublicKey => ({ algorithm: "ES256", publicKey: i.toString(16).padStart(128, "0") });
const [first, second] = [keyOf(1), keyOf(2)];

/** Milliseconds by which this process's clock is ahead of auth's. */
let aheadMs: number;
let state: WritableTokenState;
/** Auth's table, and what it was asked. */
let table: { key: PublicKey; account: string }[];
let asked: string[];
let down: boolean;
/** How long a question takes to auth, and its answer back. */
let travelMs: [number, number];
let blockedKeys: ReturnType<typeof createBlockedKeys>;

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const sentBlock = (key: PublicKey, until: Date) => entry({ blockedKey: { accountId, publicKey: key }, until });
/** The commit: from then on the key is in the table, and in the token state for two hours. */
function block(key: PublicKey): void {
  table.push({ key, account: accountId });
  state.apply(watchMessage({ entries: [sentBlock(key, new Date(Date.now() + BLOCK_SENT_MS))] }));
}
/** Advances the time while a question or its answer is under way. */
const during = async <T>(question: Promise<T>): Promise<T> => {
  void question.catch(() => undefined);
  await pass(travelMs[0] + travelMs[1]);
  return question;
};

beforeEach(async () => {
  vi.useFakeTimers();
  // To lru-cache an entry of time 0 has no age.
  await pass(1);
  [aheadMs, table, asked, down, travelMs] = [0, [], [], false, [1, 1]];
  state = createTokenState({ clock: { now: () => new Date(Date.now() + aheadMs) } });
  state.apply(watchMessage({ reset: true }));
  const client = {
    async listBlockedKeys({ accountId: account = "" }) {
      asked.push(account);
      await sleep(travelMs[0]);
      if (down) throw new AppError("Unavailable");
      const publicKeys = table.filter((row) => row.account === account).map(({ key }) => publicKeyToProto(key));
      await sleep(travelMs[1]);
      return { publicKeys };
    },
  };
  blockedKeys = createBlockedKeys(client, state);
});
afterEach(() => void vi.useRealTimers());

describe("the blocked keys of an account", () => {
  it("are asked of auth once an hour, however many ask at once", async () => {
    table.push({ key: first, account: accountId });
    const answers = during(Promise.all([blockedKeys(accountId), blockedKeys(accountId), blockedKeys(otherAccountId)]));
    expect(await answers).toEqual([[first], [first], []]);
    await pass(HOUR_MS - 3);
    expect(await during(blockedKeys(accountId))).toEqual([first]);
    expect(asked).toEqual([accountId, otherAccountId]);
    await pass(3);
    expect(await during(blockedKeys(accountId))).toEqual([first]);
    expect(asked).toHaveLength(3);
  });

  it("include one that is blocked after the cached answer, for good", async () => {
    expect(await during(blockedKeys(accountId))).toEqual([]);
    block(first);
    for (let minutes = 0; minutes < 300; minutes += 5) {
      expect(await during(blockedKeys(accountId)), `after ${minutes} minutes`).toContainEqual(first);
      await pass(5 * 60_000);
    }
    expect(state.blockedKeys(accountId), "the token state has forgotten it").toEqual([]);
  });

  it("include one that is blocked while the answer is under way", async () => {
    travelMs = [500, 500];
    const question = blockedKeys(accountId);
    await pass(700);
    block(first);
    await pass(300);
    expect(await question).toEqual([first]);
    expect(asked).toHaveLength(1);
  });

  it("count an answer from its question: a slow answer is asked for again sooner", async () => {
    travelMs = [500, HOUR_MS];
    const question = blockedKeys(accountId);
    await pass(1_000);
    block(first);
    await pass(HOUR_MS);
    expect(await question).toEqual([first]);
    travelMs = [1, 1];
    expect(await during(blockedKeys(accountId))).toContainEqual(first);
    expect(asked).toHaveLength(2);
  });

  it("are asked for again where a whole state has replaced one that may have missed blocks", async () => {
    expect(await during(blockedKeys(accountId))).toEqual([]);
    // This process was suspended: its clocks stood still, and auth no longer sends the block.
    table.push({ key: first, account: accountId });
    state.apply(watchMessage({ reset: true }));
    expect(await during(blockedKeys(accountId))).toEqual([first]);
    state.apply(watchMessage({ reset: true, complete: false }));
    expect(asked).toHaveLength(2);
  });

  it("keep nothing of a question from before a whole state replaced the old one", async () => {
    travelMs = [100, 100];
    const question = blockedKeys(accountId);
    await pass(150);
    block(first);
    state.apply(watchMessage({ reset: true, entries: [sentBlock(first, new Date(Date.now() + BLOCK_SENT_MS))] }));
    await pass(50);
    expect(await question).toEqual([first]);
    await during(blockedKeys(accountId));
    expect(asked).toHaveLength(2);
  });

  it("are an error where auth cannot be asked and nothing is cached; each request asks again", async () => {
    down = true;
    for (let i = 0; i < 2; i++) await expect(during(blockedKeys(accountId))).rejects.toThrow(AppError);
    expect(asked).toHaveLength(2);
    down = false;
    expect(await during(blockedKeys(accountId))).toEqual([]);
    down = true;
    block(second);
    expect(await during(blockedKeys(accountId))).toEqual([second]);
    await pass(HOUR_MS);
    await expect(during(blockedKeys(accountId))).rejects.toThrow(AppError);
  });

  it("are complete at any time, through commits, answers and watches in any order, and with other clocks", async () => {
    // A linear congruential generator, so that a failure repeats.
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1103515245 + 12345) % 2 ** 31;
      return seed % below;
    };
    let looked = 0;
    for (aheadMs of [-14 * 60_000, 0, 14 * 60_000]) {
      const committed: { key: PublicKey; at: number; until: Date }[] = [];
      table = [];
      state.apply(watchMessage({ reset: true }));
      for (let i = 0; i < 400; i++) {
        await pass(random(15 * 60_000));
        travelMs = [random(500), random(500)];
        const begun = Date.now();
        const question = blockedKeys(accountId);
        if (random(4) === 0) {
          await pass(random(1_000));
          // The transaction that commits now began up to ten seconds ago.
          const until = new Date(Date.now() - random(10_000) + BLOCK_SENT_MS);
          const key = keyOf(table.length);
          table.push({ key, account: accountId });
          committed.push({ key, at: Date.now(), until });
          setTimeout(() => state.apply(watchMessage({ entries: [sentBlock(key, until)] })), random(2_000));
        }
        if (random(20) === 0) {
          const kept = committed.filter(({ until }) => until.getTime() > Date.now() - HOUR_MS);
          state.apply(watchMessage({ reset: true, entries: kept.map(({ key, until }) => sentBlock(key, until)) }));
        }
        const known = new Set((await during(question)).map(({ publicKey }) => publicKey));
        const due = committed.filter(({ at }) => at <= begun - 2_000);
        expect(due.filter(({ key }) => !known.has(key.publicKey))).toEqual([]);
        looked += due.length;
      }
    }
    expect(looked).toBeGreaterThan(10_000);
    expect(asked.length).toBeLessThan(600);
  });
});
