import { uuidv7 } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { beforeAll, expect, it } from "vitest";
import type { KeyAddition } from "../policy/effects.ts";
import { clock, postgres, prisma, replicas } from "../testing/store-fixture.ts";
import { postgresSignedCreations } from "./postgres-signed-creations.ts";
import { prismaAddedKeys, prismaRevokedKeys } from "./prisma-key-history.ts";

let one: ReturnType<typeof prismaAddedKeys>;
let other: ReturnType<typeof prismaAddedKeys>;
beforeAll(() => {
  one = prismaAddedKeys(replicas[0]);
  other = prismaAddedKeys(replicas[1]);
});
const newAccount = () => ({ accountId: uuidv7(clock), chainName: "flow-emulator" });
const newKey = () => generateKeyPair().publicKey;
const at = (seconds: number) => new Date(clock.now().getTime() + seconds * 1000);
/** Renewable for a hundred seconds. */
const adding = (seconds: number, change: Partial<KeyAddition> = {}): Omit<KeyAddition, "key"> => ({
  ...{ source: "device", renewableSince: at(seconds - 100), approverSince: undefined },
  ...change,
});

it("an addition that one replica records is known to the other, for its account and chain only", async () => {
  const account = newAccount();
  const key = newKey();
  expect(await one.record(account, { key, ...adding(0) }, at(0))).toBe(true);
  const row = { key, source: "device", firstSignedAt: at(0), signedAt: at(0), revoked: false };
  expect(await other.of(account)).toEqual([row]);
  expect(await other.of({ ...account, chainName: "elsewhere" })).toEqual([]);
  expect(await other.of(newAccount())).toEqual([]);
  await one.record(account, { key: newKey(), ...adding(0) }, at(-1));
  expect((await other.of(account))[1], "the oldest first").toEqual(row);
  const negated = key.publicKey.slice(0, 64) + newKey().publicKey.slice(64);
  for (const publicKey of [key.publicKey, negated]) expect(await other.find(account, publicKey)).toEqual(row);
  expect(await other.find(account, newKey().publicKey)).toBeUndefined();
  await prismaRevokedKeys(prisma).record(
    account,
    { publicKey: key.publicKey, isOfUserKey: true, limit: 1, recentSince: new Date(0) },
    at(1),
  );
  expect(await other.find(account, key.publicKey)).toEqual({ ...row, revoked: true });
});

it("is renewed while it may still run, and later only by what is older than it", async () => {
  const account = newAccount();
  const key = newKey();
  const times = async () => (await one.of(account)).map(({ firstSignedAt, signedAt }) => [firstSignedAt, signedAt]);
  await one.record(account, { key, ...adding(0) }, at(0));
  expect(await other.record(account, { key, ...adding(60) }, at(60))).toBe(true);
  // A replica whose signature was earlier.
  expect(await one.record(account, { key, ...adding(30) }, at(30))).toBe(true);
  expect(await times()).toEqual([[at(0), at(60)]]);
  for (const approverSince of [undefined, at(1)]) {
    expect(await other.record(account, { key, ...adding(100, { approverSince }) }, at(100))).toBe(false);
  }
  expect(await times()).toEqual([[at(0), at(60)]]);
  expect(await other.record(account, { key, ...adding(100, { approverSince: at(0) }) }, at(100))).toBe(true);
  expect(await times()).toEqual([[at(100), at(100)]]);
});

it("keeps what the creation and a recovery key have put there, and its negation is the same key", async () => {
  const account = newAccount();
  const [first, recovered] = [newKey(), newKey()];
  const { accountId, chainName } = account;
  const accounts = [{ accountId, userKey: first }];
  const create = (seconds: number) =>
    postgresSignedCreations(postgres).record({ chainName, serverKeyVersion: 1, accounts }, at(seconds));
  await create(0);
  await create(5);
  await one.record(account, { key: recovered, ...adding(1) }, at(1));
  expect(await one.record(account, { key: recovered, ...adding(500, { source: "recovery" }) }, at(500))).toBe(true);
  const negated = { ...recovered, publicKey: recovered.publicKey.slice(0, 64) + first.publicKey.slice(64) };
  for (const key of [first, negated]) {
    expect(await one.record(account, { key, ...adding(510, { approverSince: at(-1) }) }, at(510))).toBe(true);
  }
  expect(await other.of(account)).toMatchObject([
    { key: recovered, source: "recovery", firstSignedAt: at(500), signedAt: at(510) },
    { key: first, source: "creation", signedAt: at(510) },
  ]);
});

it("a recovery key's addition is renewable from its own beginning, not from that of a device's before it", async () => {
  const account = newAccount();
  const key = newKey();
  const add = (seconds: number, source: KeyAddition["source"]) =>
    one.record(account, { key, ...adding(seconds, { source }) }, at(seconds));
  const firstSignedAt = async () => (await other.find(account, key.publicKey))?.firstSignedAt;
  await add(0, "device");
  await add(50, "recovery");
  expect(await firstSignedAt()).toEqual(at(50));
  await add(60, "recovery");
  await add(70, "device");
  expect(await firstSignedAt()).toEqual(at(50));
});

it("of racing additions of two replicas one row is left", async () => {
  const account = newAccount();
  const key = newKey();
  const all = await Promise.all(
    [one, other, one, other].map((keys) => keys.record(account, { key, ...adding(0) }, at(0))),
  );
  expect(all).toEqual([true, true, true, true]);
  expect(await one.of(account)).toHaveLength(1);
});
