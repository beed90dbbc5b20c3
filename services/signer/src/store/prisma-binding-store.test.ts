import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { PrismaClient } from "./generated/client.ts";
import { prismaBindingStore } from "./prisma-binding-store.ts";

const accountId = "01a20008-a288-7111-9272-2e0c0ae2798a";
const row = {
  accountId,
  chainName: "flow-emulator",
  address: "01cf0e2f2f715450",
  serverKeyIndex: 0,
  serverKeyVersion: 1,
  createdAt: new Date("2026-11-21T10:00:00Z"),
  later: [],
  begun: null as number | null,
};
const rotating = { ...row, begun: 2 };

/** A store whose reads end when the test says so, in the order in which they began. */
function open() {
  const reads: PromiseWithResolvers<(typeof row)[]>[] = [];
  const $queryRaw = () => {
    const read = Promise.withResolvers<(typeof row)[]>();
    reads.push(read);
    return read.promise;
  };
  return { store: prismaBindingStore({ $queryRaw } as unknown as PrismaClient, () => true), reads };
}

describe("a read that is under way", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([
    ["nothing was bound yet", []],
    ["a rotation was on its way", [rotating]],
  ])("says nothing to whoever asked later where %s: they share the next one", async (_case, stale) => {
    const { store, reads } = open();
    const first = store.find(accountId);
    const later = [store.find(accountId), store.find(accountId)];
    reads[0]!.resolve(stale);
    expect(await first).toHaveLength(stale.length);
    await vi.waitFor(() => expect(reads).toHaveLength(2));
    reads[1]!.resolve([row]);
    for (const found of await Promise.all(later)) expect(found).toMatchObject([{ address: row.address }]);
    expect(await store.find(accountId)).toMatchObject([{ address: row.address }]);
    expect(reads).toHaveLength(2);
  });

  it("is not waited for longer than a moment, nor remembered when it comes after all", async () => {
    const { store, reads } = open();
    const hung = store.find(accountId);
    await vi.advanceTimersByTimeAsync(499);
    const joined = store.find(accountId);
    expect(reads).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    const other = store.find(accountId);
    expect(reads).toHaveLength(2);
    reads[0]!.resolve([{ ...row, address: "0000000000000001" }]);
    await Promise.all([hung, joined]);
    reads[1]!.resolve([row]);
    await other;
    expect(await store.find(accountId)).toMatchObject([{ address: row.address }]);
    expect(reads).toHaveLength(2);
  });

  it("that fails is asked again by the next one, and keeps nobody from being remembered", async () => {
    const { store, reads } = open();
    const failed = store.find(accountId);
    reads[0]!.reject(new Error("gone"));
    await expect(failed).rejects.toThrow("gone");
    const again = store.find(accountId);
    reads[1]!.resolve([row]);
    await again;
    await store.find(accountId);
    expect(reads).toHaveLength(2);
  });
});
