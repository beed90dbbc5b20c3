import { FixedClock } from "@countersign/core/testing";
import { v7 } from "uuid";
import { expect, it } from "vitest";
import { emitUnregisteredKeys } from "../domain/emit-unregistered-keys.ts";
import { followChain } from "../domain/follow-chain.ts";
import type { ChainKey } from "../domain/ports.ts";
import { postgres, prisma } from "../testing/store-fixture.ts";
import { postgresKeyStore } from "./postgres-key-store.ts";

/** More than one transaction can write. */
const MANY = 8_000;
const ALERT_AFTER_MS = 60_000;

const clock = new FixedClock();

/** Follows a chain that shows so many keys of the account, of which all or the first ones are revoked. */
function follow(accountId: string, count: number, revoked: boolean | number = false) {
  const keyAt = (index: number): ChainKey => {
    const publicKey = { algorithm: "ES256", publicKey: index.toString(16).padStart(128, "0") } as const;
    return { index, publicKey, weight: 0, role: "user", revoked: revoked === true || index < Number(revoked) };
  };
  const keys = Array.from({ length: count }, (_, index) => keyAt(index));
  const chain = { list: async () => [{ chainName: "flow-emulator", height: 1n, keys }] };
  const store = postgresKeyStore(prisma, postgres);
  return followChain({ store, chain, clock, newId: v7, alertAfterMs: ALERT_AFTER_MS })({ accountId, requestId: "" });
}

it("an account with thousands of keys is followed, and holds up no alert of another one", async () => {
  const [account, other] = [v7(), v7()];
  await follow(account, MANY);
  clock.advance(1_000);
  await follow(other, 1);
  clock.advance(ALERT_AFTER_MS);
  const store = postgresKeyStore(prisma, postgres);
  await emitUnregisteredKeys({ store, clock })().catch(() => undefined);
  expect(await prisma.outbox.count({ where: { accountId: other } })).toBe(1);
  await follow(account, MANY, true);
  expect(await prisma.registration.count({ where: { accountId: account, revokedAt: null } })).toBe(0);
  expect(await prisma.registration.count({ where: { accountId: account } })).toBe(200);
});

it("keys that were listed and revoked hide none that is active", async () => {
  const account = v7();
  await follow(account, 200);
  await follow(account, 201, 200);
  const active = await prisma.registration.findMany({ where: { accountId: account, revokedAt: null } });
  expect(active.map(({ keyIndex }) => keyIndex)).toEqual([200]);
});

it("an account keeps few rows, however many keys come and go, and the newest are listed", async () => {
  const account = v7();
  const registrations = (where: object) => prisma.registration.findMany({ where: { accountId: account, ...where } });
  for (const revoked of [0, 200, 400]) {
    await follow(account, revoked + 200, revoked);
    clock.advance(1_000);
  }
  expect(await registrations({ revokedAt: null })).toHaveLength(200);
  const all = await registrations({});
  expect(all).toHaveLength(400);
  expect(Math.min(...all.map(({ keyIndex }) => keyIndex))).toBe(200);
  await follow(account, 600, 400);
  expect(await registrations({})).toEqual(all);
});

it("an account whose alerts fail holds up none of another one", async () => {
  const [failing, other] = [v7(), v7()];
  for (const accountId of [failing, other]) {
    await follow(accountId, 1);
    clock.advance(1_000);
  }
  clock.advance(ALERT_AFTER_MS);
  const store = postgresKeyStore(prisma, postgres);
  const withAccount: typeof store.withAccount = (accountId, work) =>
    accountId === failing ? Promise.reject(new Error("locked")) : store.withAccount(accountId, work);
  const emit = emitUnregisteredKeys({ store: { ...store, withAccount }, clock });
  await expect(emit()).rejects.toThrow("locked");
  expect(await prisma.outbox.count({ where: { accountId: other } })).toBe(1);
});

it("a restore may take longer for an account than a request may", async () => {
  const work: Parameters<ReturnType<typeof postgresKeyStore>["withAccount"]>[1] = async (keys) => {
    for (let read = 0; read < 100; read += 1) await keys.all();
  };
  await postgresKeyStore(prisma, postgres, 60_000).withAccount(v7(), work);
  await expect(postgresKeyStore(prisma, postgres, 1).withAccount(v7(), work)).rejects.toThrow("Transaction");
});
