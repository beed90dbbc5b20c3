import { webcrypto } from "node:crypto";
import { bytesToHex } from "@countersign/keys";
import { verifySignature } from "@countersign/keys/node";
import { simulatedPasskey } from "@countersign/keys/testing";
import { IDBFactory } from "fake-indexeddb";
import { describe, expect, it, vi } from "vitest";
import type { PasskeyCredentials } from "./browser-passkey.ts";
import { type KeyStore, loadOrCreateKey } from "./key-store.ts";
import { passkeyStore } from "./passkey-store.ts";
import type { DeviceKey } from "./resources.ts";
import { indexedDbKeyStore, memoryKeyStore } from "./web-crypto-key.ts";

const message = new TextEncoder().encode("message");

/** A storage in memory with one name. */
function textStorage() {
  const values = new Map<string, string>();
  return {
    values,
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
    removeItem: (key: string) => void values.delete(key),
  };
}

const stores: [string, () => KeyStore<DeviceKey>][] = [
  ["memory", () => memoryKeyStore()],
  ["IndexedDB", () => indexedDbKeyStore({ indexedDB: new IDBFactory() })],
];

describe.each(stores)("a key store in %s", (_, newStore) => {
  it("creates one key, loads it, signs with it, and removes it", async () => {
    const store = newStore();
    expect(await store.load()).toBeUndefined();
    const key = await loadOrCreateKey(store);
    expect(await loadOrCreateKey(store)).toMatchObject({ publicKey: key.publicKey, algorithm: "ES256" });
    const loaded = (await store.load())!;
    expect(verifySignature(key, message, await loaded.sign(message))).toBe(true);
    await store.remove();
    expect(await store.load()).toBeUndefined();
    expect((await store.create()).publicKey).not.toBe(key.publicKey);
  });

  it("never overwrites a key: calls at the same time get the same one", async () => {
    const store = newStore();
    const keys = await Promise.all([store.create(), store.create(), store.create()]);
    expect(new Set(keys.map(({ publicKey }) => publicKey)).size).toBe(1);
    expect((await store.create()).publicKey).toBe(keys[0]!.publicKey);
  });
});

describe("the key in IndexedDB", () => {
  it("cannot be exported", async () => {
    const indexedDB = new IDBFactory();
    const generate = vi.spyOn(webcrypto.subtle, "generateKey");
    await indexedDbKeyStore({ indexedDB }).create();
    const pair = (await generate.mock.results[0]!.value) as webcrypto.CryptoKeyPair;
    expect(pair.privateKey.extractable).toBe(false);
    await expect(webcrypto.subtle.exportKey("pkcs8", pair.privateKey)).rejects.toThrow();
    generate.mockRestore();
  });

  it("is another one by another name", async () => {
    const indexedDB = new IDBFactory();
    const first = await indexedDbKeyStore({ indexedDB }).create();
    const second = await indexedDbKeyStore({ indexedDB, name: "second" }).create();
    expect(second.publicKey).not.toBe(first.publicKey);
    expect((await indexedDbKeyStore({ indexedDB }).load())!.publicKey).toBe(first.publicKey);
  });

  it("is refused with a reason where there is no IndexedDB or no WebCrypto", async () => {
    await expect(indexedDbKeyStore().load()).rejects.toThrow("no IndexedDB");
    vi.stubGlobal("crypto", {});
    await expect(memoryKeyStore().create()).rejects.toThrow("no WebCrypto");
    vi.unstubAllGlobals();
  });
});

describe("a store of a passkey", () => {
  const SPKI_PREFIX = "3059301306072a8648ce3d020106082a8648ce3d03010703420004";

  function setUp() {
    const storage = textStorage();
    const authenticators: ReturnType<typeof simulatedPasskey>[] = [];
    const credentials: PasskeyCredentials = {
      async create() {
        const authenticator = simulatedPasskey();
        authenticators.push(authenticator);
        const spki = Buffer.from(SPKI_PREFIX + authenticator.publicKey.publicKey, "hex");
        return { rawId: Uint8Array.of(authenticators.length), response: { getPublicKey: () => new Uint8Array(spki) } };
      },
      async get({ publicKey: { challenge, allowCredentials, rpId } }) {
        const authenticator = authenticators[allowCredentials[0]!.id[0]! - 1]!;
        return { response: authenticator.assert(challenge, { rpId, client: { origin: `https://${rpId}` } }) };
      },
    };
    const store = () => passkeyStore({ rpId: "example.com", rpName: "Example", userName: "ada", storage, credentials });
    return { storage, authenticators, store };
  }

  it("creates one passkey also for a double click, and finds it again", async () => {
    const { storage, authenticators, store } = setUp();
    expect(await store().load()).toBeUndefined();
    const first = store();
    const keys = await Promise.all([first.create(), first.create()]);
    expect(authenticators).toHaveLength(1);
    const found = await loadOrCreateKey(store());
    expect(found).toMatchObject({
      publicKey: keys[0].publicKey,
      credentialId: keys[0].credentialId,
      rpId: "example.com",
    });
    const { clientDataJSON } = await found.assert(new Uint8Array(32));
    expect(new TextDecoder().decode(clientDataJSON)).toContain("webauthn.get");
    expect([...storage.values.values()].join()).not.toContain(bytesToHex(new Uint8Array(32)));
    await store().remove();
    expect(await store().load()).toBeUndefined();
  });

  it("keeps the passkey of the tab that was first", async () => {
    const { store } = setUp();
    const keys = await Promise.all([store().create(), store().create()]);
    const kept = await store().load();
    for (const { publicKey, credentialId } of keys) expect(kept).toMatchObject({ publicKey, credentialId });
  });

  it("keeps nothing where the person refuses", async () => {
    const { storage, store } = setUp();
    const refuses = passkeyStore({
      rpId: "example.com",
      rpName: "Example",
      userName: "ada",
      storage,
      credentials: { create: () => Promise.reject(new Error("NotAllowedError")), get: async () => null },
    });
    await expect(refuses.create()).rejects.toThrow("NotAllowedError");
    expect(storage.values.size).toBe(0);
    expect(await store().load()).toBeUndefined();
  });
});
