import { FixedClock } from "@countersign/core/testing";
import { v7 } from "uuid";
import { beforeEach, describe, expect, it } from "vitest";
import { type MemoryKeyStore, memoryKeyStore } from "../testing/memory-key-store.ts";
import { someKey, somePublicKey } from "../testing/samples.ts";
import { emitUnregisteredKeys } from "./emit-unregistered-keys.ts";
import { findSignInKey } from "./find-sign-in-key.ts";
import { followChain } from "./follow-chain.ts";
import type { ChainKey, ChainKeys } from "./ports.ts";
import { registerKey } from "./register-key.ts";
import { registerRecoveryKey } from "./register-recovery-key.ts";
import { OF_USER_KEY, type Registration } from "./registration.ts";

describe("following the chain", () => {
  const clock = new FixedClock();
  const key = someKey();
  const { accountId, chainName } = key;
  const server: ChainKey = { index: 0, publicKey: somePublicKey(), weight: 999, role: "server", revoked: false };
  const first: ChainKey = { index: 1, publicKey: key.accountKey, weight: 1, role: "user", revoked: false };
  const unregistered: ChainKey = { index: 2, publicKey: somePublicKey(), weight: 1, role: "user", revoked: false };
  let store: MemoryKeyStore;
  let onChain: ChainKeys[];

  const register = (changes = {}) => registerKey({ store, clock, newId: v7, maxUserKeys: 20 })({ ...key, ...changes });
  const follow = (atLeast?: { chainName: string; height: bigint }) =>
    followChain({ store, chain: { list: async () => onChain }, clock, newId: v7, alertAfterMs: 1000 })({
      accountId,
      requestId: "r",
      ...(atLeast && { atLeast }),
    });
  const show = (...keys: ChainKey[]) => {
    onChain = [{ chainName, height: 10n, keys }];
  };
  const types = () => store.events.map(({ type }) => type);

  beforeEach(async () => {
    store = memoryKeyStore();
    await register();
    store.events.length = 0;
    show(server, first);
  });

  it("changes nothing where nothing changed, and reads the weight", async () => {
    await follow();
    await follow();
    expect(store.registrations).toMatchObject([{ keyIndex: 1, weight: 1, revokedAt: null }]);
    expect(types()).toEqual([]);
  });

  it.each([
    ["is over with that", false],
    ["is asked to come again where the account may have left", true],
  ])("revokes a key on the chain that changed also where another one is away, and %s", async (_, hasLeft) => {
    await register({ id: v7(), chainName: "flow-other" });
    store.events.length = 0;
    // Nobody has left while a chain is unknown.
    show({ ...server, revoked: hasLeft }, { ...first, revoked: true });
    const list = async (_accountId: string, only = "") => {
      if (only !== chainName) throw new Error("away");
      return onChain;
    };
    const following = followChain({ store, chain: { list }, clock, newId: v7, alertAfterMs: 1000 });
    const command = { accountId, requestId: "r", atLeast: { chainName, height: 10n } };
    if (hasLeft) await expect(following(command)).rejects.toThrow("away");
    else await following(command);
    expect(types()).toEqual(["key-revoked"]);
    expect(store.registrations.map(({ revokedAt }) => revokedAt)).toEqual([clock.now(), null]);
    await expect(following({ accountId, requestId: "r" })).rejects.toThrow("away");
  });

  it("shows a revoked key as revoked, once, and lets nobody sign in with it", async () => {
    show(server, { ...first, revoked: true });
    await follow();
    await follow();
    expect(store.registrations[0]!.revokedAt).toEqual(clock.now());
    expect(store.events).toMatchObject([{ type: "key-revoked", lastOfDevice: true }]);
    const find = findSignInKey({ store })({ accountId, chainName, publicKey: key.accountKey });
    await expect(find).resolves.toBeUndefined();
    show(server, first);
    await follow();
    expect(store.registrations[0]!.revokedAt).not.toBeNull();
  });

  it("knows whether a device has another key", async () => {
    const other = someKey({ accountId, deviceKey: key.deviceKey, keyIndex: 2 });
    await register(other);
    store.events.length = 0;
    show(server, { ...first, revoked: true }, { ...unregistered, publicKey: other.accountKey });
    await follow();
    expect(store.events).toMatchObject([{ type: "key-revoked", lastOfDevice: false }]);
  });

  it.each<[string, boolean, Partial<Registration>]>([
    ["that is active", false, {}],
    ["that is revoked", true, { revokedAt: clock.now() }],
    ["that nobody registered", true, { origin: "chain" }],
    ["of another device", true, { deviceKey: somePublicKey() }],
  ])("takes a key for its device's last one beside one %s: %s", async (_, lastOfDevice, change) => {
    const { requestId: __, ...registered } = someKey({ accountId, deviceKey: key.deviceKey, keyIndex: 2 });
    const times = { createdAt: clock.now(), lastUsedAt: null, revokedAt: null };
    store.registrations.push({ ...OF_USER_KEY, ...times, ...registered, id: v7(), ...change });
    show(server, { ...first, revoked: true });
    await follow();
    expect(store.events).toMatchObject([{ type: "key-revoked", lastOfDevice }]);
  });

  it("takes neither a recovery key nor an unregistered one for a device's last one, and reports neither later", async () => {
    const recovery: ChainKey = { ...unregistered, index: 3, publicKey: somePublicKey(), role: "recovery" };
    show(server, first, unregistered, recovery);
    await follow();
    store.registrations.at(-1)!.origin = "recovery";
    show(server, first, { ...unregistered, revoked: true }, { ...recovery, revoked: true });
    await follow();
    const revoked = { type: "key-revoked", lastOfDevice: false };
    expect(store.events).toMatchObject([revoked, revoked]);
    clock.advance(1000);
    await emitUnregisteredKeys({ store, clock })();
    expect(types()).toHaveLength(2);
  });

  it("of a device's keys that are revoked at once, takes the last for its last one", async () => {
    const other = someKey({ accountId, deviceKey: key.deviceKey, keyIndex: 2 });
    await register(other);
    store.events.length = 0;
    show(server, { ...first, revoked: true }, { ...unregistered, publicKey: other.accountKey, revoked: true });
    await follow();
    expect(store.events).toMatchObject([{ lastOfDevice: false }, { lastOfDevice: true }]);
  });

  it("lists an unregistered key also where another chain has a registered one at its index", async () => {
    await register({ chainName: "flow-other", keyIndex: 2, accountKey: unregistered.publicKey });
    show(server, first, unregistered);
    await follow();
    expect(store.registrations.at(-1)).toMatchObject({ chainName, keyIndex: 2, origin: "chain" });
  });

  it("reports each unregistered key in its own time", async () => {
    show(server, first, unregistered);
    await follow();
    clock.advance(1);
    show(server, first, unregistered, { ...unregistered, index: 3, publicKey: somePublicKey() });
    await follow();
    clock.advance(999);
    await emitUnregisteredKeys({ store, clock })();
    expect(store.events).toMatchObject([{ type: "key-discovered", registration: { keyIndex: 2 } }]);
  });

  it("lists an unregistered key, reports it in time, and lets nobody sign in with it", async () => {
    show(server, first, unregistered);
    await follow();
    await follow();
    expect(store.registrations.map(({ origin }) => origin)).toEqual(["sign-up", "chain"]);
    await emitUnregisteredKeys({ store, clock })();
    expect(types()).toEqual([]);
    clock.advance(1000);
    await emitUnregisteredKeys({ store, clock })();
    await emitUnregisteredKeys({ store, clock })();
    expect(types()).toEqual(["key-discovered"]);
    const find = findSignInKey({ store })({ accountId, chainName, publicKey: unregistered.publicKey });
    await expect(find).resolves.toBeUndefined();
  });

  it("takes a key that the chain showed first for the one that is registered later", async () => {
    show(server, first, unregistered);
    await follow();
    const enrolled = someKey({ accountId, accountKey: unregistered.publicKey, keyIndex: 2, origin: "two-factor" });
    expect(await register({ ...enrolled, keyIndex: 3 })).toMatchObject({ origin: "chain", keyIndex: 2 });
    await register(enrolled);
    expect(store.registrations[1]).toMatchObject({
      origin: "two-factor",
      deviceKey: enrolled.deviceKey,
      alertAt: null,
    });
    clock.advance(1000);
    await emitUnregisteredKeys({ store, clock })();
    expect(types()).toEqual(["key-registered"]);
  });

  it("lists a key that was revoked and added again as another one", async () => {
    show(server, { ...first, revoked: true }, { ...first, index: 2 });
    await follow();
    expect(store.registrations).toMatchObject([
      { keyIndex: 1, origin: "sign-up", revokedAt: clock.now() },
      { keyIndex: 2, origin: "chain", revokedAt: null },
    ]);
  });

  it("lists a key that came and went between two reads, without an event", async () => {
    show(server, first, { ...unregistered, revoked: true });
    await follow();
    await follow();
    expect(store.registrations).toMatchObject([
      { keyIndex: 1 },
      { keyIndex: 2, revokedAt: clock.now(), alertAt: null },
    ]);
    expect(types()).toEqual([]);
  });

  it("lists and reports a user key although a client reports it as a recovery key again and again", async () => {
    const report = registerRecoveryKey({
      store,
      chain: { list: async () => onChain },
      follow: () => follow(),
      clock,
      newId: v7,
    });
    const reported = { accountId, appId: "demo", cloudAccountName: "", chainName, requestId: "r" };
    await report({ ...reported, publicKey: unregistered.publicKey });
    show(server, first, unregistered);
    await follow();
    expect(store.registrations).toMatchObject([{ keyIndex: 1 }, { keyIndex: 2, origin: "chain", kind: "user" }]);
    const again = report({ ...reported, publicKey: unregistered.publicKey });
    await expect(again).rejects.toMatchObject({ reason: "KeyAlreadyRegistered" });
    clock.advance(1000);
    await emitUnregisteredKeys({ store, clock })();
    expect(types()).toEqual(["key-discovered"]);
  });

  it("lets a device in whose key was reported as a recovery key that never came", async () => {
    const chain = { list: async () => onChain };
    const report = registerRecoveryKey({ store, chain, follow: () => follow(), clock, newId: v7 });
    const { publicKey } = unregistered;
    await report({ accountId, appId: "demo", cloudAccountName: "", chainName, requestId: "r", publicKey });
    const enrolled = await register(someKey({ accountId, accountKey: publicKey, keyIndex: 2, origin: "two-factor" }));
    expect(enrolled).toMatchObject({ kind: "user", origin: "two-factor", pendingUntil: null, keyIndex: 2 });
    expect(store.registrations).toHaveLength(2);
  });

  it("lists the same key at two indexes once, unless one of them is revoked", async () => {
    show(server, first, { ...first, index: 2 });
    await follow();
    expect(store.registrations).toHaveLength(1);
    show(server, first, { ...first, index: 3, revoked: true });
    await follow();
    expect(store.registrations).toMatchObject([{ revokedAt: null }, { keyIndex: 3, revokedAt: clock.now() }]);
  });

  it("emits once that the account has left, and only where no chain has a server key", async () => {
    onChain = [
      { chainName, height: 10n, keys: [{ ...server, revoked: true }, first] },
      { chainName: "other", height: 10n, keys: [server] },
    ];
    await follow();
    expect(types()).toEqual([]);
    onChain.pop();
    await follow();
    await follow();
    expect(types()).toEqual(["account-left"]);
  });

  it("has not left with a revoked server key beside an active one, as a rotation leaves it", async () => {
    show({ ...server, revoked: true }, first, { ...server, index: 2, publicKey: somePublicKey() });
    await follow();
    expect(types()).toEqual([]);
  });

  it("takes an answer without any server key for no answer: who has left never comes back", async () => {
    show();
    await follow();
    show(first);
    await follow();
    expect(types()).toEqual([]);
  });

  it("believes no answer that is older than the change", async () => {
    show(server, { ...first, revoked: true });
    await expect(follow({ chainName, height: 11n })).rejects.toThrow("not seen");
    expect(types()).toEqual([]);
    await follow({ chainName, height: 10n });
    expect(types()).toEqual(["key-revoked"]);
  });

  it("says nothing where the account is on no chain yet", async () => {
    onChain = [];
    await follow();
    expect(types()).toEqual([]);
  });
});
