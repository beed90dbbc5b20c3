import { uuidv7 } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import type { TimeLock } from "../policy/time-lock.ts";
import { clock, prisma } from "../testing/store-fixture.ts";
import { prismaRecoveryKeys } from "./prisma-key-history.ts";
import { prismaTimeLockStore } from "./prisma-time-lock-store.ts";

const later = (ms: number) => new Date(clock.now().getTime() + ms);
const requested = (accountId: string, requestHash = "a"): TimeLock => ({
  id: uuidv7(clock),
  accountId,
  chainName: "flow-emulator",
  operation: "add-recovery-key",
  requestHash,
  startedAt: clock.now(),
  availableAt: later(1_000),
  lapsesAt: later(2_000),
  cancelledAt: null,
  contestedSince: clock.now(),
});
const events = async (accountId: string, event: string) =>
  prisma.outbox.count({ where: { subject: `cs.v1.signer.${accountId}.${event}` } });

describe("time locks in Postgres", () => {
  it("ten first requests at once start one time lock, with one event", async () => {
    const accountId = uuidv7(clock);
    const store = prismaTimeLockStore(prisma);
    const locks = await Promise.all(Array.from({ length: 10 }, () => store.startOrFind(requested(accountId))));
    expect(new Set(locks.map(({ id }) => id)).size).toBe(1);
    expect(await store.list(accountId, clock.now())).toEqual([locks[0]]);
    expect(await store.list(uuidv7(clock), clock.now())).toEqual([]);
    expect(await events(accountId, "time-lock-started")).toBe(1);
  });

  it("another request takes the place; cancelling has one event, and works for no other account", async () => {
    const [accountId, otherAddress] = [uuidv7(clock), uuidv7(clock)];
    const store = prismaTimeLockStore(prisma);
    const first = await store.startOrFind(requested(accountId));
    const second = await store.startOrFind(requested(accountId, "b"));
    expect(second.id).not.toBe(first.id);
    expect(await store.cancel(accountId, first.id, clock.now(), "r")).toBeUndefined();
    expect(await store.cancel(otherAddress, second.id, clock.now(), "r")).toBeUndefined();
    const cancelled = { ...second, cancelledAt: clock.now() };
    for (let i = 0; i < 3; i++) {
      expect(await store.cancel(accountId, second.id, clock.now(), "r")).toEqual(cancelled);
    }
    expect(await store.startOrFind(requested(accountId, "b"))).toEqual(cancelled);
    expect([await events(accountId, "time-lock-started"), await events(accountId, "time-lock-cancelled")]).toEqual([
      2, 1,
    ]);
    expect(await store.list(accountId, later(2_000))).toEqual([]);
  });

  it("the same request begins another one once the first has lapsed, or as long after it was cancelled as it lasted", async () => {
    const store = prismaTimeLockStore(prisma);
    for (const [isCancelled, until] of [
      [false, 2_000],
      [true, 1_000],
    ] as const) {
      const accountId = uuidv7(clock);
      const { id } = await store.startOrFind(requested(accountId));
      if (isCancelled) await store.cancel(accountId, id, clock.now(), "r");
      const idAt = async (ms: number) =>
        (await store.startOrFind({ ...requested(accountId), startedAt: later(ms) })).id;
      expect(await idAt(until - 1)).toBe(id);
      expect(await idAt(until)).not.toBe(id);
    }
  });

  it("requests that follow each other within a week are one series, also for different keys", async () => {
    const accountId = uuidv7(clock);
    const store = prismaTimeLockStore(prisma);
    const DAY = 24 * 3_600_000;
    const at = (days: number, requestHash: string): TimeLock => ({
      ...requested(accountId, requestHash),
      startedAt: later(days * DAY),
      availableAt: later(days * DAY + 1_000),
      lapsesAt: later(days * DAY + 2_000),
      contestedSince: later(days * DAY),
    });
    for (const [days, since] of [
      [0, 0],
      [6, 0],
      [12, 0],
      [20, 20],
    ] as const) {
      expect((await store.startOrFind(at(days, `of day ${days}`))).contestedSince).toEqual(later(since * DAY));
    }
  });

  it("recovery keys are remembered by account and chain, once", async () => {
    const account = { accountId: uuidv7(clock), chainName: "flow-emulator" };
    const keys = prismaRecoveryKeys(prisma);
    const { publicKey } = generateKeyPair("ES256K");
    for (let i = 0; i < 2; i++) await keys.record(account, publicKey, clock.now());
    expect(await keys.of(account)).toEqual([publicKey]);
    expect(await keys.of({ ...account, chainName: "other" })).toEqual([]);
  });
});
