import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Binding } from "../policy/account.ts";
import { createKnownBindings } from "./known-bindings.ts";

const accountId = "01a20008-a288-7111-9272-2e0c0ae2798a";
const row: Binding = {
  accountId,
  chainName: "flow-emulator",
  address: "01cf0e2f2f715450",
  serverKeyIndex: 0,
  serverKeyVersion: 1,
};
const rotating: Binding = { ...row, rotatingTo: 2 };

/** Known bindings whose reads end when the test says so, in the order in which they began. */
function open() {
  const reads: PromiseWithResolvers<Binding[]>[] = [];
  const read = () => {
    const begun = Promise.withResolvers<Binding[]>();
    reads.push(begun);
    return begun.promise;
  };
  return { known: createKnownBindings(read), reads };
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
  ])("answers no later request where %s: they share the next read", async (_case, stale) => {
    const { known, reads } = open();
    const first = known.find(accountId);
    const later = [known.find(accountId), known.find(accountId)];
    reads[0]!.resolve(stale);
    expect(await first).toHaveLength(stale.length);
    await vi.waitFor(() => expect(reads).toHaveLength(2));
    reads[1]!.resolve([row]);
    for (const found of await Promise.all(later)) expect(found).toMatchObject([{ address: row.address }]);
    expect(await known.find(accountId)).toMatchObject([{ address: row.address }]);
    expect(reads).toHaveLength(2);
  });

  it("is not waited for longer than a moment, nor remembered when it comes after all", async () => {
    const { known, reads } = open();
    const hung = known.find(accountId);
    await vi.advanceTimersByTimeAsync(499);
    const joined = known.find(accountId);
    expect(reads).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    const other = known.find(accountId);
    expect(reads).toHaveLength(2);
    reads[0]!.resolve([{ ...row, address: "0000000000000001" }]);
    await Promise.all([hung, joined]);
    reads[1]!.resolve([row]);
    await other;
    expect(await known.find(accountId)).toMatchObject([{ address: row.address }]);
    expect(reads).toHaveLength(2);
  });

  it("answers for half a second, counted from its beginning: another replica may change the bindings", async () => {
    const { known, reads } = open();
    const first = known.find(accountId);
    await vi.advanceTimersByTimeAsync(300);
    reads[0]!.resolve([row]);
    await first;
    await vi.advanceTimersByTimeAsync(199);
    await known.find(accountId);
    expect(reads).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    void known.find(accountId);
    expect(reads).toHaveLength(2);
  });

  it("answers nowhere any more once a change is forgotten everywhere", async () => {
    let current = [row];
    const [changing, other] = [1, 2].map(() => createKnownBindings(async () => current));
    // As late as possible: just before the change.
    await other!.find(accountId);
    current = [rotating];
    let isOver = false;
    const forgotten = changing!.forgetEverywhere(accountId).then(() => {
      isOver = true;
    });
    const answers: Binding[][] = [];
    while (!isOver) {
      answers.push(await other!.find(accountId));
      await vi.advanceTimersByTimeAsync(1);
    }
    await forgotten;
    expect(answers.slice(0, 500)).toEqual(Array.from({ length: 500 }, () => [row]));
    expect(await other!.find(accountId)).toEqual([rotating]);
  });

  it("that fails is asked again by the next one, and keeps nobody from being remembered", async () => {
    const { known, reads } = open();
    const failed = known.find(accountId);
    reads[0]!.reject(new Error("gone"));
    await expect(failed).rejects.toThrow("gone");
    const again = known.find(accountId);
    reads[1]!.resolve([row]);
    await again;
    await known.find(accountId);
    expect(reads).toHaveLength(2);
  });
});
