import { FixedClock } from "@countersign/core/testing";
import type { PublicKey } from "@countersign/keys";
import { v7 } from "uuid";
import { beforeEach, describe, expect, it } from "vitest";
import { type MemoryKeyStore, memoryKeyStore } from "../testing/memory-key-store.ts";
import { someKey, somePublicKey } from "../testing/samples.ts";
import { findSignInKey } from "./find-sign-in-key.ts";
import { registerKey } from "./register-key.ts";
import type { KeyOrigin } from "./registration.ts";

describe("findSignInKey", () => {
  const key = someKey();
  const { accountId, chainName } = key;
  let store: MemoryKeyStore;
  const register = (changes = {}) =>
    registerKey({ store, clock: new FixedClock(), newId: v7, maxUserKeys: 20 })({ ...key, ...changes });
  const find = (publicKey: PublicKey, changes = {}) =>
    findSignInKey({ store })({ accountId, chainName, publicKey, ...changes });

  beforeEach(() => {
    store = memoryKeyStore();
  });

  it("finds by account key and by device key", async () => {
    await register();
    expect(await find(key.accountKey)).toMatchObject({ accountKey: key.accountKey, deviceKey: key.deviceKey });
    expect(await find(key.deviceKey)).toMatchObject({ accountKey: key.accountKey, origin: "sign-up" });
  });

  it.each<[KeyOrigin, boolean]>([
    ["sign-up", true],
    ["two-factor", true],
    ["recovery", true],
    ["chain", false],
  ])("origin %s signs in: %s", async (origin, signsIn) => {
    await register({ origin });
    if (signsIn) await expect(find(key.accountKey)).resolves.toMatchObject({ origin });
    else await expect(find(key.accountKey)).resolves.toBeUndefined();
  });

  it("finds nothing that does not sign in", async () => {
    await register();
    await expect(find(somePublicKey())).resolves.toBeUndefined();
    await expect(find(key.accountKey, { accountId: v7() })).resolves.toBeUndefined();
    await expect(find(key.accountKey, { chainName: "flow-testnet" })).resolves.toBeUndefined();
    await expect(find({ ...key.accountKey, algorithm: "ES256K" })).resolves.toBeUndefined();
    store.registrations[0]!.revokedAt = new Date();
    await expect(find(key.accountKey)).resolves.toBeUndefined();
  });

  it("prefers an account key to a device key, and the newest of a device's keys", async () => {
    const newer = somePublicKey();
    await register();
    await register({ accountKey: newer, keyIndex: 2 });
    expect(await find(key.deviceKey)).toMatchObject({ accountKey: newer });
    await register({ accountKey: somePublicKey(), deviceKey: newer, keyIndex: 3 });
    expect(await find(newer)).toMatchObject({ keyIndex: 2 });
  });
});
