import { FixedClock } from "@countersign/core/testing";
import { v7 } from "uuid";
import { beforeEach, describe, expect, it } from "vitest";
import { type MemoryKeyStore, memoryKeyStore } from "../testing/memory-key-store.ts";
import { someKey, somePublicKey } from "../testing/samples.ts";
import { findSignInKey } from "./find-sign-in-key.ts";
import { followChain } from "./follow-chain.ts";
import type { ChainKey, ChainKeys } from "./ports.ts";
import { registerKey } from "./register-key.ts";
import { MAX_PENDING, PENDING_MS, registerRecoveryKey } from "./register-recovery-key.ts";

describe("a recovery key", () => {
  const clock = new FixedClock();
  const key = someKey();
  const { accountId, chainName } = key;
  const server: ChainKey = { index: 0, publicKey: somePublicKey(), weight: 999, role: "server", revoked: false };
  const first: ChainKey = { index: 1, publicKey: key.accountKey, weight: 1, role: "user", revoked: false };
  const recovery = somePublicKey();
  const onChainAt = (index: number, publicKey = recovery): ChainKey => ({
    index,
    publicKey,
    weight: 999,
    role: "recovery",
    revoked: false,
  });
  let store: MemoryKeyStore;
  let chains: ChainKeys[];

  const chain = { list: async () => chains };
  const show = (...keys: ChainKey[]) => {
    chains = [{ chainName, height: 1n, keys: [server, first, ...keys] }];
  };
  const followNow = () =>
    followChain({ store, chain, clock, newId: v7, alertAfterMs: 1000 })({ accountId, requestId: "r" });
  const report = (publicKey = recovery, change = {}) =>
    registerRecoveryKey({ store, chain, follow: followNow, clock, newId: v7 })({
      accountId,
      appId: "demo",
      publicKey,
      cloudAccountName: "ada",
      chainName: "",
      requestId: "r",
      ...change,
    });
  const signsIn = (publicKey = recovery) =>
    findSignInKey({ store })({ accountId, chainName, publicKey }).then((found) => found?.origin);
  const recoveryKeys = () => store.registrations.filter(({ kind }) => kind === "recovery");

  beforeEach(async () => {
    store = memoryKeyStore();
    await registerKey({ store, clock, newId: v7, maxUserKeys: 20 })(key);
    store.events.length = 0;
    show();
  });

  it("is reported first: pending, no sign-in; then the chain shows it", async () => {
    await report();
    await report();
    expect(recoveryKeys()).toMatchObject([{ keyIndex: -1, cloudAccountName: "ada", origin: "recovery" }]);
    expect(await signsIn()).toBeUndefined();
    show(onChainAt(2));
    await followNow();
    expect(recoveryKeys()).toMatchObject([{ keyIndex: 2, weight: 999, pendingUntil: null, alertAt: null }]);
    expect(await signsIn()).toBe("recovery");
    expect(store.events).toMatchObject([{ type: "key-registered" }]);
  });

  it("is on chain first: an unregistered key until it is reported", async () => {
    show(onChainAt(2));
    await followNow();
    expect(recoveryKeys()).toMatchObject([{ keyIndex: 2, origin: "chain", alertAt: expect.any(Date) }]);
    expect(await signsIn()).toBeUndefined();
    await report();
    await report();
    expect(recoveryKeys()).toMatchObject([{ keyIndex: 2, origin: "recovery", alertAt: null }]);
    expect(await signsIn()).toBe("recovery");
    expect(store.events).toMatchObject([{ type: "key-registered" }]);
  });

  it("that the chain never shows is dropped after an hour", async () => {
    await report();
    clock.advance(PENDING_MS);
    await followNow();
    expect(recoveryKeys()).toEqual([]);
  });

  it("stays reported, though a thief's device reports others before the chain shows it", async () => {
    await report();
    const refused = () => report(somePublicKey()).then(() => "", String);
    for (let others = 1; others < MAX_PENDING; others++) expect(await refused()).toBe("");
    expect(await refused()).toContain("RateLimited");
    await report();
    show(onChainAt(2));
    await followNow();
    expect(await signsIn()).toBe("recovery");
    clock.advance(PENDING_MS);
    expect(await refused()).toBe("");
    expect(recoveryKeys()).toMatchObject([{ accountKey: recovery }, { keyIndex: -1 }]);
  });

  it("is reported once the chain shows it, though a thief's device has filled the places", async () => {
    for (let others = 0; others < MAX_PENDING; others++) await report(somePublicKey());
    await expect(report()).rejects.toMatchObject({ reason: "RateLimited", retryAfterSeconds: PENDING_MS / 1000 });
    show(onChainAt(2));
    await report();
    expect(await signsIn()).toBe("recovery");
    // On a second chain as well, which shows the same key.
    const second = { chainName: "second", height: 1n, keys: [server, onChainAt(1)] };
    chains = [...chains, { ...second, keys: [server] }];
    for (let others = 0; others < MAX_PENDING; others++) await report(somePublicKey(), { chainName: "second" });
    chains = [chains[0]!, second];
    await report(recovery, { chainName: "second" });
    expect(await findSignInKey({ store })({ accountId, chainName: "second", publicKey: recovery })).toMatchObject({
      origin: "recovery",
    });
  });

  it("is one with its algorithm, at one index", async () => {
    await report();
    show({ ...onChainAt(2), publicKey: { ...recovery, algorithm: "ES256K" } });
    await followNow();
    expect(recoveryKeys()).toMatchObject([{ keyIndex: 2, origin: "chain", accountKey: { algorithm: "ES256K" } }]);
    expect(await signsIn()).toBeUndefined();
    store.registrations.splice(1);
    show(onChainAt(2));
    await report();
    show(onChainAt(2), onChainAt(3));
    await followNow();
    expect(recoveryKeys()).toMatchObject([{ keyIndex: 2, origin: "recovery" }]);
  });

  it("belongs to the chain that shows it as one, otherwise to the first, and to each chain that is named", async () => {
    const chainOf = async (change: Partial<ChainKey> = {}, named = "") => {
      const elsewhere = { chainName: "elsewhere", height: 1n, keys: [server, { ...onChainAt(2), ...change }] };
      chains = [{ chainName, height: 1n, keys: [server, first] }, elsewhere];
      store.registrations.splice(1);
      await report(recovery, { chainName: named });
      return recoveryKeys().flatMap((each) => (each.origin === "recovery" ? [each.chainName] : []));
    };
    expect(await chainOf({ revoked: true })).toEqual([chainName]);
    expect(await chainOf({ weight: 1, role: "user" })).toEqual([chainName]);
    expect(await chainOf()).toEqual(["elsewhere"]);
    await report(recovery, { chainName });
    expect(recoveryKeys().map((each) => [each.chainName, each.keyIndex])).toEqual([
      ["elsewhere", 2],
      [chainName, -1],
    ]);
  });

  it("is given another name without an event, and another hour by a report while it is pending", async () => {
    await report();
    clock.advance(PENDING_MS - 1);
    await report();
    clock.advance(1);
    await followNow();
    show(onChainAt(2));
    await followNow();
    expect(recoveryKeys()).toMatchObject([{ keyIndex: 2, origin: "recovery" }]);
    await report(recovery, { cloudAccountName: "grace" });
    expect(recoveryKeys()).toMatchObject([{ keyIndex: 2, cloudAccountName: "grace" }]);
    expect(store.events).toMatchObject([{ type: "key-registered" }]);
  });

  it("may be a device's key that was revoked", async () => {
    store.registrations[0]!.revokedAt = clock.now();
    await report(key.accountKey);
    expect(recoveryKeys()).toMatchObject([{ accountKey: key.accountKey, keyIndex: -1 }]);
  });

  it("is replaced: the old one is revoked, the new one signs in", async () => {
    show(onChainAt(2));
    await report();
    const next = somePublicKey();
    await report(next);
    show({ ...onChainAt(2), revoked: true }, onChainAt(3, next));
    await followNow();
    expect([await signsIn(), await signsIn(next)]).toEqual([undefined, "recovery"]);
    expect(recoveryKeys().filter(({ revokedAt }) => revokedAt === null)).toHaveLength(1);
  });

  it("is no device's key, of an algorithm of the chain, and on a chain of the account", async () => {
    await expect(report(key.accountKey)).rejects.toMatchObject({ reason: "KeyAlreadyRegistered" });
    await expect(report({ algorithm: "EdDSA", publicKey: "11".repeat(32) })).rejects.toMatchObject({
      reason: "UnsupportedKey",
    });
    await expect(report(recovery, { chainName: "elsewhere" })).rejects.toMatchObject({ reason: "UnknownChain" });
    chains = [];
    await expect(report()).rejects.toMatchObject({ reason: "AccountNotReady" });
  });

  it("that is pending does not sign in even where a user key has its bytes on chain", async () => {
    await report();
    show({ ...onChainAt(2), weight: 1, role: "user" });
    await followNow();
    expect(await signsIn()).toBeUndefined();
  });
});
