import { FixedClock } from "@countersign/core/testing";
import type { Postgres } from "@countersign/postgres";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { v7 } from "uuid";
import { beforeEach, describe, expect, it } from "vitest";
import { findSignInKey } from "../domain/find-sign-in-key.ts";
import { recordKeyUse } from "../domain/record-key-use.ts";
import { registerKey } from "../domain/register-key.ts";
import { OF_USER_KEY } from "../domain/registration.ts";
import { someKey } from "../testing/samples.ts";
import { postgres, prisma } from "../testing/store-fixture.ts";
import { postgresKeyStore } from "./postgres-key-store.ts";

describe("keys in Postgres", () => {
  let accountId: string;
  const clock = new FixedClock();

  beforeEach(() => {
    accountId = v7();
  });

  const commands = () => {
    const store = postgresKeyStore(prisma, postgres);
    return {
      store,
      register: registerKey({ store, clock, newId: v7, maxUserKeys: 20 }),
      find: findSignInKey({ store }),
      note: recordKeyUse({ store, clock }),
    };
  };

  it("registers the first key of an account with its event, and leaves an account with keys as it is", async () => {
    const { store, register } = commands();
    const { requestId, ...command } = someKey({ accountId });
    const registration = await register({ ...command, requestId });
    expect(await store.list(accountId, { includeRevoked: true })).toEqual([registration]);
    const other = { ...registration, id: v7(), accountKey: someKey().accountKey, keyIndex: 2 };
    const event = { type: "key-registered" as const, registration: other, occurredAt: clock.now(), requestId };
    expect(await store.insertFirst(event)).toBe(false);
    // Of a version before the lock, or restored without it.
    const onSeveralNodes = postgresKeyStore(prisma, { ...postgres, isDistributed: async () => true });
    for (const each of [store, onSeveralNodes]) {
      await prisma.accountLock.deleteMany({ where: { accountId } });
      expect(await each.insertFirst(event)).toBe(false);
    }
    expect(await store.list(accountId, { includeRevoked: true })).toEqual([registration]);
    expect(await prisma.outbox.count({ where: { accountId } })).toBe(1);
  });

  it("registers the first keys of many accounts by one statement, also where replicas do so at once", async () => {
    const keys = Array.from({ length: 20 }, () => someKey({ accountId: v7(), keyIndex: 1 }));
    let statements = 0;
    const counting: Postgres = {
      ...postgres,
      query: (statement) => {
        statements += 1;
        return postgres.query(statement);
      },
    };
    const replicas = [keys, keys.toReversed()].map((inOrder) => {
      const store = postgresKeyStore(prisma, counting);
      const register = registerKey({ store, clock, newId: v7, maxUserKeys: 20 });
      return inOrder.map((key) => register(key));
    });
    const [ours, theirs] = await Promise.all(replicas.map((each) => Promise.all(each)));
    expect(statements).toBe(2);
    expect(ours).toEqual(theirs!.toReversed());
    expect(ours!.map(({ accountKey }) => accountKey)).toEqual(keys.map(({ accountKey }) => accountKey));
    const events = await prisma.outbox.findMany({ where: { accountId: { in: keys.map((key) => key.accountId) } } });
    const registered = events.map(({ payload }) => Event.decode(payload));
    expect(registered).toHaveLength(keys.length);
    for (const { accountId, requestId } of keys)
      expect(registered).toContainEqual(expect.objectContaining({ accountId, requestId }));
  });

  it("registers the first two keys of an account at once, each with its event", async () => {
    const { store, register } = commands();
    const two = await Promise.all([1, 2].map((keyIndex) => register(someKey({ accountId, keyIndex }))));
    const listed = await store.list(accountId, { includeRevoked: true });
    expect(listed.map(({ id }) => id).sort()).toEqual(two.map(({ id }) => id).sort());
    expect(await prisma.outbox.count({ where: { accountId } })).toBe(2);
  });

  it("waits with the first key for a transaction that has the account's lock", async () => {
    const { store, register } = commands();
    const registering = store.withAccount(accountId, async (keys) => {
      const refused = register(someKey({ accountId, keyIndex: 3 }));
      await new Promise((resolve) => setTimeout(resolve, 100));
      const { requestId: _, ...key } = someKey({ accountId, keyIndex: 3 });
      const times = { createdAt: clock.now(), lastUsedAt: null, revokedAt: null };
      await keys.insert({ ...OF_USER_KEY, ...key, ...times, id: v7() });
      return { refused };
    });
    await expect((await registering).refused).rejects.toMatchObject({ reason: "InvalidRequest" });
  });

  it("registers one key for two concurrent registrations, with one event", async () => {
    const { register } = commands();
    const command = someKey({ accountId });
    const [first, second] = await Promise.all([register(command), register(command)]);
    expect(second).toEqual(first);
    expect(await prisma.registration.count({ where: { accountId } })).toBe(1);
    const rows = await prisma.outbox.findMany({ where: { subject: `cs.v1.key.${accountId}.key-registered` } });
    expect(rows).toHaveLength(1);
    expect(Event.decode(rows[0]!.payload)).toMatchObject({
      id: rows[0]!.id,
      accountId,
      requestId: "test",
      keyRegistered: { chainName: "flow-emulator", keyIndex: 1 },
    });
  });

  it("keeps the limit of twenty among 25 registrations at once", async () => {
    const { register, store } = commands();
    const keys = Array.from({ length: 25 }, (_, index) => register(someKey({ accountId, keyIndex: index + 1 })));
    const refused = (await Promise.allSettled(keys)).filter((result) => result.status === "rejected");
    expect(refused).toHaveLength(5);
    for (const { reason } of refused) expect(reason).toMatchObject({ reason: "TooManyKeys" });
    expect(await store.list(accountId, { includeRevoked: true })).toHaveLength(20);
  });

  it("finds by either key, of that account and chain alone, also of accounts that are asked about together", async () => {
    const { register, find, store } = commands();
    const command = someKey({ accountId });
    const { chainName, accountKey, deviceKey } = command;
    const registration = await register(command);
    expect(await find({ accountId, chainName, publicKey: accountKey })).toEqual(registration);
    expect(await find({ accountId, chainName, publicKey: deviceKey })).toEqual(registration);
    for (const query of [
      { accountId: v7(), chainName, publicKey: accountKey },
      { accountId, chainName: "flow-testnet", publicKey: accountKey },
      { accountId, chainName, publicKey: { ...accountKey, algorithm: "ES256K" as const } },
      { accountId, chainName, publicKey: { ...deviceKey, algorithm: "ES256K" as const } },
    ]) {
      await expect(find(query)).resolves.toBeUndefined();
      expect(await store.findByKey(query.accountId, query.chainName, query.publicKey)).toEqual([]);
    }
    await register(someKey({ accountId, keyIndex: 2 }));
    const other = await register(someKey());
    for (const publicKey of [accountKey, deviceKey]) {
      const asked = [accountId, other.accountId].map((each) => store.findByKey(each, chainName, publicKey));
      expect(await Promise.all(asked)).toEqual([[registration], []]);
    }
  });

  it("hides revoked keys unless asked, and registers their key again at another index only", async () => {
    const { register, find, store } = commands();
    const command = someKey({ accountId });
    const { id } = await register(command);
    await prisma.registration.update({ where: { id }, data: { revokedAt: clock.now() } });
    const { chainName, accountKey } = command;
    const query = { accountId, chainName, publicKey: accountKey };
    await expect(find(query)).resolves.toBeUndefined();
    expect(await store.findByKey(accountId, chainName, accountKey)).toEqual([]);
    expect(await store.list(accountId, { includeRevoked: false })).toEqual([]);
    expect(await store.list(accountId, { includeRevoked: true })).toHaveLength(1);

    expect((await register(command)).id).toBe(id);
    await expect(find(query)).resolves.toBeUndefined();
    const live = await register({ ...command, keyIndex: 2 });
    expect(await find(query)).toMatchObject({ keyIndex: 2 });
    const again = store.withAccount(accountId, (keys) => keys.insert({ ...live, id: v7(), keyIndex: 3 }));
    await expect(again).rejects.toMatchObject({ code: "P2002" });
  });

  it("reads and changes keys of its account alone", async () => {
    const { register, store } = commands();
    const own = await register(someKey({ accountId }));
    const second = await register(someKey({ accountId, keyIndex: 2 }));
    const all = (account: string) => store.withAccount(account, (keys) => keys.all());
    expect(await all(accountId)).toEqual([own, second]);
    expect(await all(v7())).toEqual([]);

    const ofOther = store.withAccount(v7(), (keys) => keys.update({ ...own, weight: 1 }));
    await expect(ofOther).rejects.toThrow();
    await store.withAccount(v7(), (keys) => keys.remove(own.id));
    expect(await store.list(accountId, { includeRevoked: true })).toEqual([own, second]);
    await store.withAccount(accountId, (keys) => keys.remove(own.id));
    expect(await store.list(accountId, { includeRevoked: true })).toEqual([second]);
  });

  it("leaves an account once", async () => {
    const { store } = commands();
    const left = await store.withAccount(accountId, async (keys) => [
      await keys.leave(clock.now()),
      await keys.leave(clock.now()),
    ]);
    expect(left).toEqual([true, false]);
  });

  it("finds accounts whose alerts are due, the longest due first", async () => {
    const { register, store } = commands();
    const at = (ms: number) => new Date(clock.now().getTime() + ms);
    const due: string[] = [];
    for (const ms of [2, 1]) {
      const { id, accountId } = await register(someKey());
      await prisma.registration.update({ where: { id }, data: { alertAt: at(ms) } });
      due.unshift(accountId);
    }
    expect([await store.alertsDue(at(0), 9), await store.alertsDue(at(2), 9)]).toEqual([[], due]);
    expect(await store.alertsDue(at(2), 1)).toEqual(due.slice(0, 1));
  });

  it("moves the last use of an active key forward, never back, and of no other one", async () => {
    const { register, note, store } = commands();
    const { accountKey } = await register(someKey({ accountId }));
    const second = await register(someKey({ accountId, keyIndex: 2 }));
    const revoked = await register(someKey({ accountId, keyIndex: 3 }));
    await prisma.registration.update({ where: { id: revoked.id }, data: { revokedAt: clock.now() } });
    const other = await register(someKey({ accountKey }));
    const used = clock.now();
    const before = new Date(used.getTime() - 1000);
    await Promise.all([
      note({ accountId, accountKey: { ...second.accountKey, algorithm: "ES256K" }, usedAt: used }),
      note({ accountId, accountKey: revoked.accountKey, usedAt: used }),
      note({ accountId: other.accountId, accountKey: second.accountKey, usedAt: used }),
      note({ accountId, accountKey, usedAt: before }),
    ]);
    const lastUses = async (account = accountId) =>
      (await store.list(account, { includeRevoked: true })).map(({ lastUsedAt }) => lastUsedAt);
    expect(await lastUses()).toEqual([before, null, null]);
    await note({ accountId, accountKey, usedAt: used });
    await note({ accountId, accountKey, usedAt: before });
    expect([await lastUses(), await lastUses(other.accountId)]).toEqual([[used, null, null], [null]]);
  });
});
