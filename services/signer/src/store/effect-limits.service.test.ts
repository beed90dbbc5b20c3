import { uuidv7 } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import { expect, it } from "vitest";
import type { Effect } from "../policy/effects.ts";
import { someBinding } from "../testing/binding-fixture.ts";
import { bindings, key, recoveryKeyEffect, revocationOf, sequenceNumber } from "../testing/effects-fixture.ts";
import { clock, prisma, replicas } from "../testing/store-fixture.ts";
import { prismaEffectStore } from "./prisma-effect-store.ts";
import { prismaAddedKeys, prismaRecoveryKeys } from "./prisma-key-history.ts";

it("of racing recovery keys through two replicas the limit lets so many through; a known one counts once", async () => {
  const account = someBinding();
  const stores = replicas.map((replica) => prismaEffectStore(replica, bindings));
  const keys = Array.from({ length: 12 }, key);
  const record = (added: PublicKey, i: number) =>
    stores[i % 2]!.record(account, [recoveryKeyEffect(added, 4)], clock.now());
  const refused = await Promise.all(keys.map(record));
  expect(refused.filter((effect) => effect === undefined)).toHaveLength(4);
  const known = await prismaRecoveryKeys(prisma).of(account);
  expect(known).toHaveLength(4);
  expect((await Promise.all(known.map(record))).every((effect) => effect === undefined)).toBe(true);
  expect(await record(key(), 0)).toMatchObject({ kind: "recovery-key" });
});

it("a recovery key counts until its signature is old, revoked or not", async () => {
  for (const isRevoked of [false, true]) {
    const account = someBinding();
    const store = prismaEffectStore(prisma, bindings);
    const now = clock.now();
    const [first, second] = [key(), key()];
    const revocation = isRevoked ? [revocationOf(first, 256, false)] : [];
    expect(await store.record(account, [recoveryKeyEffect(first, 1), ...revocation], now)).toBeUndefined();
    const counted = { ...recoveryKeyEffect(second, 1), countedSince: new Date(now.getTime() - 1000) } as Effect;
    expect(await store.record(account, [counted], now)).toMatchObject({ kind: "recovery-key" });
    expect(await store.record(account, [{ ...counted, countedSince: now } as Effect], now)).toBeUndefined();
    expect(await prismaRecoveryKeys(prisma).of(account)).toHaveLength(2);
  }
});

it("of racing additions that devices approve the limit lets so many through in its time, revoked or not", async () => {
  const account = someBinding();
  const stores = replicas.map((replica) => prismaEffectStore(replica, bindings));
  const add = (added: PublicKey, i: number, source: "device" | "recovery" = "device") => {
    const times = { renewableSince: new Date(0), approverSince: undefined };
    const counted = { limit: 4, countedSince: new Date(clock.now().getTime() - 1000) };
    const addition: Effect = { kind: "key-addition", key: added, source, ...times };
    const condition: Effect = { kind: "device-approved-key", publicKey: added.publicKey, ...counted };
    return stores[i % 2]!.record(account, source === "device" ? [condition, addition] : [addition], clock.now());
  };
  const refused = await Promise.all(Array.from({ length: 12 }, (_, i) => add(key(), i)));
  expect(refused.filter((effect) => effect === undefined)).toHaveLength(4);
  expect(new Set(refused.map((effect) => effect?.kind))).toEqual(new Set([undefined, "device-approved-key"]));
  const [known] = await prismaAddedKeys(prisma).of(account);
  expect(await add(known!.key, 0)).toBeUndefined();
  expect(await add(key(), 1, "recovery")).toBeUndefined();
  expect(await add(key(), 0)).toMatchObject({ kind: "device-approved-key" });
  await stores[0]!.record(account, [revocationOf(known!.key)], clock.now());
  expect(await add(key(), 1)).toMatchObject({ kind: "device-approved-key" });
  clock.advance(2000);
  expect(await add(key(), 1)).toBeUndefined();
});

it("of additions that one device approves the limit counts that device's, also signed again by another", async () => {
  const account = someBinding();
  const store = prismaEffectStore(prisma, bindings);
  const [one, other] = [key(), key()];
  const add = (added: PublicKey, by: PublicKey) => {
    const approver = by.publicKey;
    const times = { renewableSince: new Date(0), approverSince: undefined };
    const counted = { approver, limit: 2, countedSince: new Date(clock.now().getTime() - 1000) };
    const effects: Effect[] = [
      { kind: "device-approved-key", publicKey: added.publicKey, ...counted },
      { kind: "key-addition", key: added, source: "device", approver, ...times },
    ];
    return store.record(account, effects, clock.now());
  };
  const [first, second] = [key(), key()];
  for (const added of [first, second]) expect(await add(added, one)).toBeUndefined();
  expect(await add(key(), one)).toMatchObject({ kind: "device-approved-key" });
  for (const added of [first, second, key(), key()]) expect(await add(added, other)).toBeUndefined();
  expect(await add(key(), other)).toMatchObject({ kind: "device-approved-key" });
  expect(await add(key(), one)).toMatchObject({ kind: "device-approved-key" });
  clock.advance(2000);
  expect(await add(key(), one)).toBeUndefined();
});

it("limits count the keys and the revocations of their own account and chain only", async () => {
  const account = someBinding();
  const store = prismaEffectStore(prisma, bindings);
  const approved = (added: PublicKey): Effect[] => [
    { kind: "device-approved-key", publicKey: added.publicKey, limit: 1, countedSince: new Date(0) },
    { kind: "key-addition", key: added, source: "device", renewableSince: new Date(0), approverSince: undefined },
  ];
  for (const effectsOf of [approved, (added: PublicKey) => [recoveryKeyEffect(added, 1)]]) {
    const [first, second] = [key(), key()];
    const revocation = revocationOf(first, 256, effectsOf === approved);
    expect(await store.record(account, effectsOf(first), clock.now())).toBeUndefined();
    for (const elsewhere of [{ ...account, chainName: "elsewhere" }, someBinding()])
      expect(await store.record(elsewhere, [...effectsOf(second), revocation], clock.now())).toBeUndefined();
    const [refused] = effectsOf(second);
    expect(await store.record(account, effectsOf(second), clock.now())).toEqual(refused);
  }
  expect(await prismaAddedKeys(prisma).of(account)).toMatchObject([{ revoked: false }]);
});

it("of racing sequence numbers the limit lets so many through", async () => {
  const account = someBinding();
  const stores = replicas.map((replica) => prismaEffectStore(replica, bindings));
  const sessionId = uuidv7(clock);
  const refused = await Promise.all(
    Array.from({ length: 12 }, (_, i) =>
      stores[i % 2]!.record(account, [sequenceNumber(BigInt(i), sessionId, 4)], clock.now()),
    ),
  );
  expect(refused.filter((effect) => effect === undefined)).toHaveLength(4);
});
