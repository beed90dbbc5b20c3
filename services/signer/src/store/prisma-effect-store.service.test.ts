import { uuidv7 } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import { lockAccount, sql } from "@countersign/postgres";
import { expect, it } from "vitest";
import type { EffectStore } from "../domain/ports.ts";
import { type Effect, effectsOfPaymaster, effectsOfTransaction } from "../policy/effects.ts";
import type { RequestFacts } from "../policy/request-facts.ts";
import type { Template } from "../policy/template.ts";
import { bound, someBinding } from "../testing/binding-fixture.ts";
import {
  bindings,
  ephemeralUse,
  key,
  recoveryKeyEffect,
  revocationOf,
  sequenceNumber,
} from "../testing/effects-fixture.ts";
import { clock, postgres, prisma, replicas } from "../testing/store-fixture.ts";
import { prismaEffectStore } from "./prisma-effect-store.ts";
import { prismaAddedKeys, prismaRecoveryKeys, prismaRevokedKeys } from "./prisma-key-history.ts";
import { prismaSignedTemplates } from "./prisma-signed-templates.ts";

it("writes all effects, or none of them where the database refuses one", async () => {
  const account = someBinding();
  const sessionId = uuidv7(clock);
  const [recoveryKey, revokedKey] = [key(), key()];
  const effects: Effect[] = [
    recoveryKeyEffect(recoveryKey),
    revocationOf(revokedKey),
    sequenceNumber(3n, sessionId),
    ephemeralUse(sessionId),
  ];
  const written = async () => [
    await prismaRecoveryKeys(prisma).of(account),
    await prismaRevokedKeys(prisma).has(account, revokedKey.publicKey),
    await prismaSignedTemplates(prisma).has(account, 3n),
  ];
  const store = prismaEffectStore(prisma, bindings);
  expect(await store.record(account, [ephemeralUse(sessionId)], clock.now())).toBeUndefined();
  expect(await store.record(account, effects, clock.now())).toEqual(ephemeralUse(sessionId));
  expect(await written()).toEqual([[], false, false]);
  expect(await store.record(account, effects.slice(0, 3), clock.now())).toBeUndefined();
  expect(await written()).toEqual([[recoveryKey], true, true]);
});

it("of racing effects through two replicas the limits let so many through, and nobody waits for ever", async () => {
  const account = someBinding();
  const sessionId = uuidv7(clock);
  const stores = replicas.map((replica) => prismaEffectStore(replica, bindings));
  const refused = await Promise.all(
    Array.from({ length: 12 }, (_, i) => {
      const effects: Effect[] = [
        recoveryKeyEffect(key()),
        revocationOf(key()),
        sequenceNumber(BigInt(i), sessionId, 16),
        ephemeralUse(sessionId, 5),
      ];
      return stores[i % 2]!.record(account, effects, clock.now());
    }),
  );
  expect(refused.filter((effect) => effect === undefined)).toHaveLength(5);
  expect(new Set(refused.map((effect) => effect?.kind))).toEqual(new Set([undefined, "ephemeral-use"]));
  expect(await prismaRecoveryKeys(prisma).of(account)).toHaveLength(5);
  expect(await prisma.signedTemplate.count({ where: { accountId: account.accountId } })).toBe(5);
});

const keyChange = (change: Template["change"], number: bigint) =>
  ({
    template: { name: change.template, change },
    message: { proposalKey: { sequenceNumber: number } },
    token: { scope: "full", sessionId: uuidv7(clock) },
    account: { serverKeyVersion: 1 },
    chain: {},
  }) as unknown as RequestFacts;
const registered = {};
const approval = { key: key(), isRecoveryKey: false, registered };

it("does not let a key be added that another request revoked after this one had loaded its facts", async () => {
  const [one, other] = replicas.map((replica) => prismaEffectStore(replica, bindings)) as [EffectStore, EffectStore];
  const additions = [
    (newKey: PublicKey) => keyChange({ template: "add-user-key", newKey }, 2n),
    (newKey: PublicKey) => keyChange({ template: "add-recovery-key", newKey, serverKey: key().publicKey }, 2n),
  ];
  for (const factsOf of additions) {
    const account = someBinding();
    const newKey = key();
    const loaded = replicas.map((replica) => prismaRevokedKeys(replica).has(account, newKey.publicKey));
    expect(await Promise.all(loaded)).toEqual([false, false]);
    const revocation = keyChange({ template: "revoke-user-key", oldKey: newKey.publicKey }, 1n);
    const revoked = await one.record(account, effectsOfPaymaster(revocation, approval, clock.now()), clock.now());
    expect(revoked).toBeUndefined();
    const effects = effectsOfPaymaster(factsOf(newKey), approval, clock.now());
    const refused = await other.record(account, effects, clock.now());
    expect(refused).toMatchObject({ kind: "not-revoked", publicKey: newKey.publicKey, source: "device" });
    expect(await prismaRecoveryKeys(prisma).of(account)).toEqual([]);
    expect(await prismaAddedKeys(prisma).of(account)).toEqual([]);
  }
});

it("few revocations in a day of keys that the signer does not know are kept, and each one that it knows", async () => {
  const account = someBinding();
  const store = prismaEffectStore(prisma, bindings);
  const [first, unknown, added, recovery] = [key(), key(), key(), key()];
  const addition = effectsOfPaymaster(
    keyChange({ template: "add-user-key", newKey: added }, 1n),
    approval,
    clock.now(),
  );
  await store.record(account, [...addition, recoveryKeyEffect(recovery)], clock.now());
  const isKept = async (revoked: PublicKey) => {
    const effect = revocationOf(revoked, 2, revoked !== recovery);
    expect(await store.record(account, [effect], clock.now())).toBeUndefined();
    return prismaRevokedKeys(prisma).has(account, revoked.publicKey);
  };
  const areKept = async () => {
    const kept: boolean[] = [];
    for (const revoked of [first, unknown, added, recovery]) kept.push(await isKept(revoked));
    return kept;
  };
  await isKept(key());
  expect(await areKept()).toEqual([true, false, true, true]);
  expect(await areKept()).toEqual([true, false, true, true]);
  clock.advance(24 * 3_600_000);
  expect(await isKept(unknown)).toBe(true);
  const [effect] = effectsOfPaymaster(
    keyChange({ template: "revoke-user-key", oldKey: unknown.publicKey }, 1n),
    approval,
    clock.now(),
  );
  expect(effect).toEqual(revocationOf(unknown));
});

it("a user key is not revoked as a recovery key", async () => {
  const account = someBinding();
  const store = prismaEffectStore(prisma, bindings);
  const userKey = key();
  const addition: Effect = {
    kind: "key-addition",
    ...{ key: userKey, source: "device", renewableSince: new Date(0), approverSince: undefined },
  };
  await store.record(account, [addition, revocationOf(userKey, 256, false)], clock.now());
  expect(await prismaRevokedKeys(prisma).has(account, userKey.publicKey)).toBe(false);
  await store.record(account, [revocationOf(userKey)], clock.now());
  expect(await prismaRevokedKeys(prisma).has(account, userKey.publicKey)).toBe(true);
});

it("a recovery key is not revoked as a user key, and adds a revoked key once", async () => {
  const account = someBinding();
  const store = prismaEffectStore(prisma, bindings);
  const [recovery, newKey] = [key(), key()];
  const { has } = prismaRevokedKeys(prisma);
  await store.record(account, [recoveryKeyEffect(recovery), revocationOf(recovery), revocationOf(newKey)], clock.now());
  expect(await has(account, recovery.publicKey)).toBe(false);
  const change = keyChange({ template: "add-user-key", newKey }, 2n);
  const add = (isRecoveryKey: boolean, by: typeof registered | undefined) =>
    store.record(
      account,
      effectsOfPaymaster(change, { key: key(), isRecoveryKey, registered: by }, clock.now()),
      clock.now(),
    );
  expect(await add(false, registered)).toMatchObject({ kind: "not-revoked" });
  expect(await add(true, undefined)).toMatchObject({ kind: "not-revoked" });
  expect(await add(true, registered)).toBeUndefined();
  expect(await prismaAddedKeys(prisma).of(account)).toMatchObject([{ source: "recovery", revoked: false }]);
  expect(await add(true, registered)).toBeUndefined();
  await store.record(account, [revocationOf(newKey)], clock.now());
  expect(await add(false, registered)).toMatchObject({ kind: "not-revoked" });
  // While its first addition may still execute.
  clock.advance(899_999);
  expect(await add(true, registered)).toBeUndefined();
  await store.record(account, [revocationOf(newKey)], clock.now());
  clock.advance(1);
  for (const isRecoveryKey of [true, false])
    expect(await add(isRecoveryKey, registered)).toMatchObject({ kind: "not-revoked" });
  await store.record(account, [revocationOf(recovery, 256, false)], clock.now());
  expect(await has(account, recovery.publicKey)).toBe(true);
});

it("of additions of one key as a user key and as a recovery key at once, one is signed", async () => {
  const stores = replicas.map((replica) => prismaEffectStore(replica, bindings));
  for (let round = 0; round < 10; round += 1) {
    const account = someBinding();
    const newKey = key();
    // The same holder.
    const negated = { ...newKey, publicKey: newKey.publicKey.slice(0, 64) + key().publicKey.slice(64) };
    const additions = [
      keyChange({ template: "add-user-key", newKey }, 1n),
      keyChange({ template: "add-recovery-key", newKey: negated, serverKey: key().publicKey }, 2n),
    ].map((facts) => effectsOfPaymaster(facts, approval, clock.now()));
    const record = (effects: Effect[], i: number) => stores[(round + i) % 2]!.record(account, effects, clock.now());
    const refused = await Promise.all(additions.map(record));
    expect(refused.map((effect) => effect?.kind).sort()).toEqual(["one-role", undefined]);
    // The role that it has is renewed, the other one refused.
    const again = [await record(additions[0]!, 0), await record(additions[1]!, 1)];
    expect(again.map((effect) => effect?.kind)).toEqual(refused.map((effect) => effect?.kind));
    const known = [await prismaAddedKeys(prisma).of(account), await prismaRecoveryKeys(prisma).of(account)];
    expect(known.flat()).toHaveLength(1);
  }
});

it.each([
  ["a user key becomes no recovery key", 0],
  ["a recovery key becomes no user key", 1],
] as const)("%s, also where the facts were loaded before", async (_, first) => {
  const account = someBinding();
  const store = prismaEffectStore(prisma, bindings);
  const newKey = key();
  const changes = [
    { template: "add-user-key", newKey },
    { template: "replace-recovery-key", newKey, oldKey: key().publicKey, serverKey: key().publicKey },
  ] as const;
  const add = (change: Template["change"]) =>
    store.record(account, effectsOfPaymaster(keyChange(change, 1n), approval, clock.now()), clock.now());
  expect(await add(changes[first])).toBeUndefined();
  expect(await add(changes[1 - first]!)).toMatchObject({ kind: "one-role", publicKey: newKey.publicKey });
});

it("orders racing additions and revocations of one key: none is left waiting, and none follows a revocation", async () => {
  const stores = replicas.map((replica) => prismaEffectStore(replica, bindings));
  for (let round = 0; round < 10; round += 1) {
    const account = someBinding();
    const newKey = key();
    const added = keyChange({ template: "add-user-key", newKey }, 2n);
    const revoked = keyChange({ template: "revoke-user-key", oldKey: newKey.publicKey }, 1n);
    const requests = [
      effectsOfTransaction(added, undefined, clock.now()),
      effectsOfTransaction(revoked, undefined, clock.now()),
      effectsOfPaymaster(added, approval, clock.now()),
      effectsOfPaymaster(revoked, approval, clock.now()),
    ];
    await Promise.all(requests.map((effects, i) => stores[(round + i) % 2]!.record(account, effects, clock.now())));
    const after = await stores[round % 2]!.record(account, requests[2]!, clock.now());
    expect(after?.kind).toBe("not-revoked");
  }
});

it("an approver that is not known renews a known key, and makes none known", async () => {
  const account = someBinding();
  const store = prismaEffectStore(prisma, bindings);
  const [known, unknown] = [key(), key()];
  const now = clock.now();
  const approver = { device: key().publicKey, unknown: key().publicKey };
  const add = (added: PublicKey, source: "device" | "unknown", renewableSince = new Date(0)) => {
    const approved = { source, approver: approver[source], renewableSince, approverSince: undefined };
    const effects: Effect[] = [{ kind: "one-role", publicKey: added.publicKey, isUserKey: true }];
    return store.record(account, [...effects, { kind: "key-addition", key: added, ...approved }], clock.now());
  };
  expect(await add(known, "device")).toBeUndefined();
  clock.advance(1000);
  expect(await add(known, "unknown")).toBeUndefined();
  expect(await add({ ...unknown, algorithm: "ES256K" }, "unknown")).toBeUndefined();
  const addedKeys = prismaAddedKeys(prisma);
  expect(await addedKeys.of(account)).toMatchObject([{ key: known, source: "device", signedAt: clock.now() }]);
  // The version before takes each row of the chain for a known key.
  const { accountId, chainName } = account;
  expect(await prisma.addedKey.count({ where: { accountId, chainName } })).toBe(1);
  expect(await add(known, "unknown", now)).toMatchObject({ kind: "key-addition" });
  // A recovery key's additions are in no limit, known or not.
  const byRecoveryKey = { source: "unknown", renewableSince: now, approverSince: undefined } as const;
  await store.record(account, [{ kind: "key-addition", key: key(), ...byRecoveryKey }], clock.now());
  expect(await prisma.addedKey.count({ where: { accountId } })).toBe(2);
  // Of a key that nobody knows, each approval counts as the first.
  clock.advance(1000);
  expect(await add(unknown, "unknown", clock.now())).toBeUndefined();
  const limited = { limit: 2, countedSince: new Date(0) };
  const another: Effect = { kind: "device-approved-key", publicKey: key().publicKey, ...limited };
  expect(await store.record(account, [another], clock.now())).toEqual(another);
  expect(await add(unknown, "device", clock.now())).toBeUndefined();
  const row = { key: unknown, source: "device", signedAt: clock.now() };
  expect(await addedKeys.find(account, unknown.publicKey)).toMatchObject(row);
  const ofDevice: Effect = { ...another, approver: approver.device };
  expect(await store.record(account, [ofDevice], clock.now())).toEqual(ofDevice);
});

it("each effect that counts or compares rows waits for the account's lock", async () => {
  const store = prismaEffectStore(prisma, bindings);
  const { publicKey } = key();
  const effects: Effect[] = [
    { kind: "not-revoked", publicKey, source: "device", renewableSince: new Date(0) },
    { kind: "one-role", publicKey, isUserKey: true },
    recoveryKeyEffect(key()),
    revocationOf({ publicKey }),
    sequenceNumber(1n, uuidv7(clock)),
    { kind: "device-approved-key", publicKey, limit: 1, countedSince: new Date(0) },
  ];
  for (const effect of effects) {
    const account = someBinding();
    const order: string[] = [];
    const { recording } = await postgres.transaction(async (tx) => {
      await lockAccount(tx, account.accountId);
      const recording = store.record(account, [effect], clock.now()).then(() => order.push(effect.kind));
      for (let waiting = false; !waiting; ) {
        const rows = await postgres.query(sql`
          SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`);
        waiting = rows.length > 0 || order.length > 0;
      }
      order.push("unlocked");
      // In an object: the transaction would wait for a promise.
      return { recording };
    });
    await recording;
    expect(order).toEqual(["unlocked", effect.kind]);
  }
});

it("a rotation is known to every replica before its signature is", async () => {
  const forgotten: string[] = [];
  const store = prismaEffectStore(prisma, { forgetEverywhere: async (id) => void forgotten.push(id) });
  const account = await bound();
  await store.record(account, [ephemeralUse(uuidv7(clock))], clock.now());
  expect(forgotten).toEqual([]);
  await store.record(account, [{ kind: "rotation", version: 2 }], clock.now());
  expect(forgotten).toEqual([account.accountId]);
});
