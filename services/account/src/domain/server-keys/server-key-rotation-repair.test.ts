import { describe, expect, it } from "vitest";
import { accountId, signal } from "../../testing/chain-account.ts";
import {
  list,
  options,
  prepared,
  reconcile,
  reconcileOpen,
  reset,
  rotate,
  rotations,
  world,
} from "../../testing/server-key-rotations.ts";
import { listServerKeyRotations } from "./list-server-key-rotations.ts";

describe("a wrong record that was forged in the signer is corrected when a device lists rotations", () => {
  it("another index", async () => {
    await rotate(await prepared());
    await reconcileOpen();
    world.places.set(2, 9);
    expect(await list()).toEqual([]);
    expect([world.bound, world.places.get(2)]).toEqual([2, 2]);
    // Nothing more to correct.
    const before = world.calls;
    await list();
    expect(world.places.get(2)).toBe(2);
    expect(world.calls).toBeGreaterThan(before);
  });

  it("a rotation that was signed and never ran", async () => {
    world.seals = false;
    await rotate(await prepared());
    world.height += 700;
    await reconcileOpen();
    [world.bound, world.places] = [2, new Map([...world.places, [2, 2]])];
    expect(await list()).toEqual([]);
    expect([world.bound, world.places.get(2)]).toEqual([1, undefined]);
    // And now it comes.
    world.seals = true;
    await rotate(await prepared());
    await reconcileOpen();
    expect([world.bound, world.places.get(2)]).toEqual([2, 2]);
  });

  it("that nothing was rotated where it was", async () => {
    await rotate(await prepared());
    await reconcileOpen();
    [world.bound, world.places] = [1, new Map([[1, 0]])];
    expect(await list()).toEqual([]);
    expect([world.bound, world.places.get(2)]).toEqual([2, 2]);
  });

  /** Rotated to versions 2 and 3, which stand at the indexes 2 and 3. */
  async function rotateTwice() {
    for (const version of [2, 3]) {
      world.wanted = version;
      await rotate(await prepared());
      await reconcileOpen();
    }
    expect([world.bound, ...world.places]).toEqual([3, [1, 0], [2, 2], [3, 3]]);
  }
  const emitted = (...indexes: number[]) => {
    world.places = new Map([0, ...indexes].map((index, i) => [i + 1, index]));
    world.bound = indexes.length + 1;
  };

  it("several indexes, whichever way they are wrong", async () => {
    await rotateTwice();
    for (const indexes of [
      [9_000, 9_001],
      [1, 2],
      [1, 9],
      [3, 4],
    ]) {
      emitted(...indexes);
      expect(await list()).toEqual([]);
      expect([world.bound, ...world.places]).toEqual([3, [1, 0], [2, 2], [3, 3]]);
    }
    // The last one was not recorded at all.
    emitted(9_000);
    await list();
    expect([world.bound, ...world.places]).toEqual([3, [1, 0], [2, 2], [3, 3]]);
  });

  it("two rotations of which one or none ran", async () => {
    await rotate(await prepared());
    await reconcileOpen();
    world.wanted = 3;
    world.height += 700;
    emitted(9_000, 9_001);
    await list();
    expect([world.bound, ...world.places]).toEqual([2, [1, 0], [2, 2]]);
    reset();
    world.wanted = 3;
    emitted(9_000, 9_001);
    await list();
    await list();
    expect([world.bound, ...world.places]).toEqual([1, [1, 0]]);
  });

  it("and a rotation that is reconciled late takes nothing back", async () => {
    const first = await prepared();
    await rotate(first);
    const late = world.rows.get("2")!;
    await reconcileOpen();
    world.wanted = 3;
    await rotate(await prepared());
    await reconcileOpen();
    expect(await reconcile({ ...late, state: "submitted" }, signal)).toBe("sealed");
    expect([world.bound, ...world.places]).toEqual([3, [1, 0], [2, 2], [3, 3]]);
  });

  it("but a node that lags behind takes nothing back that we have seen", async () => {
    const old = world.keys;
    await rotate(await prepared());
    await reconcileOpen();
    const seen = world.keys;
    world.keys = old;
    expect(await list()).toEqual([]);
    expect(world.bound).toBe(2);
    world.height += 650;
    await list();
    expect(world.bound).toBe(2);
    world.keys = seen;
    world.height += 1;
    await list();
    expect(world.bound).toBe(2);
  });

  it("nor what another request has seen since this one began", async () => {
    const old = world.keys;
    await rotate(await prepared());
    await reconcileOpen();
    world.keys = old;
    const answers = [undefined];
    const newest: typeof rotations.newest = async (...of) =>
      answers.length > 0 ? answers.shift() : rotations.newest(...of);
    const listing = listServerKeyRotations({ ...options, rotations: { ...rotations, newest }, reconcile });
    expect(await listing(accountId, signal)).toEqual([]);
    expect([answers.length, world.bound]).toEqual([0, 2]);
  });
});
