import { describe, expect, it } from "vitest";
import { bindAddress } from "../domain/bind-address.ts";
import { rotateBinding } from "../domain/rotate-binding.ts";
import type { Binding } from "../policy/account.ts";
import type { ChainPolicy } from "../policy/chain.ts";
import { beginRotation, bound, newAddress, someBinding } from "../testing/binding-fixture.ts";
import { clock, databases, postgres, prisma } from "../testing/store-fixture.ts";
import { postgresBindingStore } from "./postgres-binding-store.ts";

describe("rotations of a server key", () => {
  const conflict = { reason: "SigningRefused", metadata: { reason: "BindingConflict" } };
  const store = () => postgresBindingStore(postgres);
  const rotate = (of: Binding, serverKeyVersion: number, serverKeyIndex: number, replaces?: number) => {
    const { accountId, chainName: on } = of;
    const report = { accountId, chainName: on, serverKeyVersion, serverKeyIndex, replaces };
    return rotateBinding({ bindings: store(), clock })(report);
  };
  const begin = (of: Binding, version: number) => beginRotation(of, version);

  it("append a version, once, after one was signed", async () => {
    const binding = await bound();
    const { accountId } = binding;
    await expect(rotate(binding, 2, 2)).rejects.toMatchObject(conflict);
    await begin(binding, 2);
    await begin(binding, 2);
    expect(await store().find(accountId)).toMatchObject([{ serverKeyIndex: 0, serverKeyVersion: 1, rotatingTo: 2 }]);
    await Promise.all(Array.from({ length: 6 }, () => rotate(binding, 2, 2)));
    const after = { ...binding, boundAt: clock.now(), serverKeyIndex: 2, serverKeyVersion: 2 };
    expect(await store().find(accountId)).toEqual([{ ...after, retired: [{ index: 0, version: 1 }] }]);
    await expect(rotate(binding, 3, 3)).rejects.toMatchObject(conflict);
    await begin(binding, 3);
    await expect(rotate(binding, 3, 1)).rejects.toMatchObject(conflict);
    await expect(rotate(binding, 4, 4)).rejects.toMatchObject(conflict);
    await rotate(binding, 3, 5);
    const retired = [
      { index: 0, version: 1 },
      { index: 2, version: 2 },
    ];
    expect(await store().find(accountId)).toMatchObject([{ serverKeyIndex: 5, serverKeyVersion: 3, retired }]);
    // The account is bound as it was: what created it may say so again.
    const again = bindAddress({
      bindings: store(),
      signedCreations: { record: async () => undefined, has: async () => true },
      clock,
      chain: () => ({ paymaster: { address: "" }, creator: { address: "" } }) as ChainPolicy,
    });
    await again(binding, "");
    await expect(rotate(someBinding(), 2, 2)).rejects.toMatchObject(conflict);
  });

  it("of two indexes at once one stands", async () => {
    const binding = await bound();
    await begin(binding, 2);
    await Promise.allSettled([rotate(binding, 2, 2), rotate(binding, 2, 3)]);
    const rows = await prisma.bindingVersion.findMany({ where: { accountId: binding.accountId } });
    expect(rows).toHaveLength(1);
    expect([2, 3]).toContain(rows[0]!.serverKeyIndex);
  });

  it("that a compromised account service reported wrongly are corrected by a right report", async () => {
    const binding = await bound();
    const { accountId } = binding;
    const now = async () => (await store().find(accountId))[0]!;
    const [one, two] = [
      { index: 0, version: 1 },
      { index: 4, version: 2 },
    ];
    // The first key stands where the creation has put it.
    for (const index of [1, 5]) await expect(rotate(binding, 1, index)).rejects.toMatchObject(conflict);
    await begin(binding, 2);
    // No index of an account's: below the key before, at it, and where no account has one.
    for (const index of [0, 10_000, 0x7fffffff])
      await expect(rotate(binding, 2, index)).rejects.toMatchObject(conflict);
    // The rotation has another index than reported.
    await rotate(binding, 2, 3);
    await expect(rotate(binding, 2, 0)).rejects.toMatchObject(conflict);
    await rotate(binding, 2, 4);
    expect(await now()).toMatchObject({ serverKeyVersion: 2, serverKeyIndex: 4, retired: [one] });
    // It never ran: the version before signs again, and the rotation may come after all.
    await expect(rotate(binding, 1, 4, 2)).rejects.toMatchObject(conflict);
    await rotate(binding, 1, 0, 2);
    await rotate(binding, 1, 0, 2);
    const taken = await now();
    expect(taken).toMatchObject({ serverKeyVersion: 1, serverKeyIndex: 0, rotatingTo: 2 });
    expect(taken).not.toHaveProperty("retired");
    await rotate(binding, 2, 4);
    // Two versions back is one after the other.
    await begin(binding, 3);
    await rotate(binding, 3, 7);
    expect(await now()).toMatchObject({ serverKeyVersion: 3, retired: [one, two] });
    for (const replaced of [2, 3, 4]) await expect(rotate(binding, 1, 0, replaced)).rejects.toMatchObject(conflict);
    await rotate(binding, 2, 4, 3);
    expect(await now()).toMatchObject({ serverKeyVersion: 2, retired: [one], rotatingTo: 3 });
    await rotate(binding, 1, 0, 2);
    expect(await now()).toMatchObject({ serverKeyVersion: 1, rotatingTo: 3 });
    await expect(rotate(binding, 3, 7)).rejects.toMatchObject(conflict);
    await rotate(binding, 2, 4);
    await rotate(binding, 3, 7);
    expect(await now()).toMatchObject({ serverKeyVersion: 3, serverKeyIndex: 7, retired: [one, two] });
  });

  /** Rotated to versions 2 and 3. */
  const rotatedTwice = async (second: number, third: number) => {
    const binding = await bound();
    const now = async () => (await store().find(binding.accountId))[0]!;
    for (const [version, index] of [[2, second] as const, [3, third] as const]) {
      await begin(binding, version);
      await rotate(binding, version, index);
    }
    return { binding, now };
  };

  it("reported late change nothing: later versions stay, unless the report names them", async () => {
    const { binding, now } = await rotatedTwice(2, 3);
    const before = await now();
    await rotate(binding, 2, 2);
    await rotate(binding, 1, 0);
    expect(await now()).toEqual(before);
    // A decision from before the rotation: the database takes back and moves by its own state.
    await store().takeBackVersion(binding, 2);
    await store().moveVersion(binding, { index: 4, version: 2 });
    await store().appendVersion(binding, { index: 9, version: 2 }, clock.now());
    expect(await now()).toEqual(before);
    await begin(binding, 5);
    await store().appendVersion(binding, { index: 9, version: 5 }, clock.now());
    expect(await now()).toMatchObject({ serverKeyVersion: 3, serverKeyIndex: 3 });
  });

  it("change one account on one chain only", async () => {
    const binding = await bound();
    const elsewhere = { ...binding, chainName: "elsewhere", address: newAddress() };
    await store().insert(elsewhere, { now: clock.now(), requestId: "" });
    const unrotated = { ...elsewhere, chainName: "unrotated" };
    await store().insert(unrotated, { now: clock.now(), requestId: "" });
    const others = [await bound(), elsewhere];
    for (const version of [2, 3]) for (const each of [binding, ...others]) await begin(each, version);
    const indexes = ({ accountId, chainName: on }: Binding) =>
      prisma.bindingVersion
        .findMany({ where: { accountId, chainName: on }, orderBy: { serverKeyVersion: "asc" } })
        .then((rows) => rows.map(({ serverKeyIndex }) => serverKeyIndex));
    await rotate(binding, 2, 2);
    expect(await store().find(binding.accountId)).toContainEqual({ ...unrotated, boundAt: clock.now() });
    expect(await Promise.all(others.map(indexes))).toEqual([[], []]);
    for (const each of others) {
      await rotate(each, 2, 5);
      await rotate(each, 3, 6);
    }
    for (const index of [3, 4, 7]) await rotate(binding, 3, index);
    await rotate(binding, 2, 2, 3);
    await rotate(binding, 1, 0, 2);
    expect(await Promise.all([binding, ...others].map(indexes))).toEqual([[], [5, 6], [5, 6]]);
  });

  it("append and move no index at or below an earlier one of the account, by the database's own state", async () => {
    const { binding, now } = await rotatedTwice(2, 3);
    const fresh = await bound();
    await begin(binding, 4);
    await begin(fresh, 2);
    for (const index of [1, 3]) await store().appendVersion(binding, { index, version: 4 }, clock.now());
    await store().appendVersion(fresh, { index: 0, version: 2 }, clock.now());
    await store().moveVersion(binding, { index: 0, version: 2 });
    for (const index of [1, 2]) await store().moveVersion(binding, { index, version: 3 });
    const retired = [
      { index: 0, version: 1 },
      { index: 2, version: 2 },
    ];
    expect(await now()).toMatchObject({ serverKeyVersion: 3, serverKeyIndex: 3, retired });
    expect(await prisma.bindingVersion.count({ where: { accountId: fresh.accountId } })).toBe(0);
  });

  it("never leave a gap, also when one is appended while another is taken back", async () => {
    for (let round = 0; round < 8; round++) {
      const binding = await bound();
      for (const version of [2, 3]) await begin(binding, version);
      await rotate(binding, 2, 2);
      const other = postgresBindingStore(databases[1]);
      await Promise.all([
        store().takeBackVersion(binding, 2),
        other.appendVersion(binding, { index: 3, version: 3 }, clock.now()),
      ]);
      const { accountId } = binding;
      const rows = await prisma.bindingVersion.findMany({ where: { accountId }, orderBy: { serverKeyVersion: "asc" } });
      const versions = rows.map(({ serverKeyVersion }) => serverKeyVersion);
      expect([[], [2, 3]]).toContainEqual(versions);
    }
  });

  it("reported wrongly twice are corrected one after the other", async () => {
    const { binding, now } = await rotatedTwice(9_000, 9_001);
    await expect(rotate(binding, 3, 3)).rejects.toMatchObject(conflict);
    for (const index of [0, 9_001, 9_002]) await expect(rotate(binding, 2, index)).rejects.toMatchObject(conflict);
    await rotate(binding, 2, 2);
    await rotate(binding, 3, 3);
    const retired = [
      { index: 0, version: 1 },
      { index: 2, version: 2 },
    ];
    expect(await now()).toMatchObject({ serverKeyVersion: 3, serverKeyIndex: 3, retired });
  });
});
