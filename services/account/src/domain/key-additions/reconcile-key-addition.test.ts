import { describe, expect, it } from "vitest";
import { key } from "../../testing/chain-account.ts";
import { newDevice, reconcile, submit, world } from "../../testing/key-additions.ts";
import type { KeyAdditionOutcome } from "./key-addition.ts";

describe("reconciling", () => {
  it("closes an attempt that committed nothing, so that a late one cannot commit", async () => {
    expect(await reconcile()).toMatchObject({ state: "abandoned" });
    await expect(submit()).rejects.toMatchObject({ reason: "TwoFactorAuthNotPending" });
    expect(world.submitted).toEqual([]);
  });

  it("submits the same bytes again while the chain does not know them", async () => {
    const { transactionId } = await submit();
    world.height += 650;
    expect(await reconcile()).toMatchObject({ state: "submitted" });
    expect(world.submitted).toEqual([transactionId, transactionId]);
    expect(world.signatures).toBe(2);
  });

  it("waits for one that is under way, however long", async () => {
    await submit();
    world.outcome = { status: "pending", events: [] };
    world.height += 651;
    expect(await reconcile()).toMatchObject({ state: "submitted" });
    expect(world.submitted).toHaveLength(1);
  });

  it("is decided by the key on the chain alone", async () => {
    await submit();
    world.outcome = { status: "failed", events: [] };
    world.keys = [...world.keys, key(7, newDevice.publicKey)];
    world.addedAt.set(7, 1000n);
    expect(await reconcile()).toMatchObject({ state: "sealed", keyIndex: 7 });
    world.keys = world.keys.slice(0, 2);
    expect(await reconcile()).toMatchObject({ state: "sealed", keyIndex: 7 });
  });

  it.each<[string, Partial<KeyAdditionOutcome>, number]>([
    ["the chain refused it", { status: "failed" }, 0],
    ["the chain executed it", { status: "sealed" }, 0],
    ["it is too old to execute", { status: "unknown" }, 651],
    ["it expired", { status: "expired" }, 651],
  ])("fails where %s and the key is not there", async (_, change, blocks) => {
    await submit();
    world.outcome = { ...world.outcome, ...change };
    world.height += blocks;
    expect(await reconcile()).toMatchObject({ state: "failed" });
  });

  it.each(["sealed", "failed"] as const)(
    "that has %s is decided by its own block, which another node lacks",
    async (status) => {
      await submit();
      world.outcome = { status, height: 1005n, events: [] };
      world.keys = [...world.keys, key(2, newDevice.publicKey)];
      world.addedAt.set(2, 1005n);
      world.height = 1003;
      expect(await reconcile()).toMatchObject({ state: "sealed", keyIndex: 2 });
    },
  );

  it("returns nothing to another account", async () => {
    await submit();
    expect(await reconcile("01900000-0000-7000-8000-0000000000ff")).toBeUndefined();
  });
});
