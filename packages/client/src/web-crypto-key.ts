import { bytesToHex, canonicalPublicKey } from "@countersign/keys";
import type { KeyStore } from "./key-store.ts";
import type { DeviceKey } from "./resources.ts";

/** The part of a CryptoKeyPair that is used: its private half stays inside. */
interface KeyPair {
  privateKey: CryptoKeyReference;
  publicKey: CryptoKeyReference;
}
type CryptoKeyReference = Parameters<typeof globalThis.crypto.subtle.exportKey>[1];

interface Request {
  readonly result: unknown;
  readonly error: unknown;
  onsuccess: ((event: never) => unknown) | null;
  onerror: ((event: never) => unknown) | null;
}
interface ObjectStore {
  get(key: string): Request;
  add(value: unknown, key: string): Request;
  delete(key: string): Request;
}
interface Transaction {
  readonly error: unknown;
  oncomplete: ((event: never) => unknown) | null;
  onabort: ((event: never) => unknown) | null;
  objectStore(name: string): ObjectStore;
}
interface Database {
  createObjectStore(name: string): unknown;
  transaction(store: string, mode: "readonly" | "readwrite", options?: { durability: "strict" }): Transaction;
  close(): void;
}

/** The part of `indexedDB` that is used. */
export interface IndexedDb {
  /**
   * Opens a database.
   * @example const request = indexedDB.open("countersign-keys", 1);
   */
  open(name: string, version: number): Request & { onupgradeneeded: ((event: never) => unknown) | null };
}

const P256 = { name: "ECDSA", namedCurve: "P-256" } as const;
const STORE = "keys";

/**
 * Thrown where a key store is not available, such as on a page without TLS.
 * @example
 * const deviceKey = await loadOrCreateKey(indexedDbKeyStore()).catch((error) => {
 *   if (error instanceof KeyStoreError) return undefined;
 *   throw error;
 * });
 */
export class KeyStoreError extends Error {
  override readonly name = "KeyStoreError";
}

function webCrypto(): typeof globalThis.crypto.subtle {
  const subtle = globalThis.crypto?.subtle;
  if (!subtle) throw new KeyStoreError("no WebCrypto here: the page needs TLS, and React Native another key store");
  return subtle;
}

/** Creates a P-256 key whose private half WebCrypto never gives out. */
const generate = async (): Promise<KeyPair> =>
  (await webCrypto().generateKey(P256, false, ["sign", "verify"])) as KeyPair;

async function toDeviceKey({ privateKey, publicKey }: KeyPair): Promise<DeviceKey> {
  const point = new Uint8Array(await webCrypto().exportKey("raw", publicKey));
  return {
    ...canonicalPublicKey({ algorithm: "ES256", publicKey: bytesToHex(point.subarray(1)) }),
    async sign(message) {
      const signed = await webCrypto().sign({ name: "ECDSA", hash: "SHA-256" }, privateKey, message.slice());
      return new Uint8Array(signed);
    },
  };
}

/**
 * Returns a store in memory, with a WebCrypto key: for tests, and for programs whose key may be lost.
 * @example const deviceKey = await loadOrCreateKey(memoryKeyStore());
 */
export function memoryKeyStore(): KeyStore<DeviceKey> {
  let kept: Promise<DeviceKey> | undefined;
  return {
    load: async () => kept,
    create: () => {
      kept ??= generate().then(toDeviceKey);
      return kept;
    },
    async remove() {
      kept = undefined;
    },
  };
}

/** Options of `indexedDbKeyStore`. */
export interface IndexedDbKeyStoreOptions {
  /** The name of the database; default `countersign-keys`. */
  database?: string;
  /** The key's name in it, for several keys; default `device`. */
  name?: string;
  /** Default: the browser's. */
  indexedDB?: IndexedDb;
}

/**
 * Returns a store in the browser's IndexedDB: a WebCrypto key that no script can read, only use. The browser
 * deletes it with the site's data, and may do so by itself unless `navigator.storage.persist()` was granted.
 * @example const deviceKey = await loadOrCreateKey(indexedDbKeyStore());
 */
export function indexedDbKeyStore(options: IndexedDbKeyStoreOptions = {}): KeyStore<DeviceKey> {
  const { database = "countersign-keys", name = "device" } = options;

  async function withStore(mode: "readonly" | "readwrite", work: (store: ObjectStore) => Request): Promise<unknown> {
    const factory = options.indexedDB ?? (globalThis as { indexedDB?: IndexedDb }).indexedDB;
    if (!factory) throw new KeyStoreError("no IndexedDB here");
    const opening = factory.open(database, 1);
    opening.onupgradeneeded = () => void (opening.result as Database).createObjectStore(STORE);
    const opened = (await resultOf(opening)) as Database;
    try {
      const transaction = opened.transaction(STORE, mode, { durability: "strict" });
      const done = new Promise<void>((resolve, reject) => {
        transaction.oncomplete = () => resolve();
        transaction.onabort = () => reject(transaction.error ?? new KeyStoreError("the key was not stored"));
      });
      const [result] = await Promise.all([resultOf(work(transaction.objectStore(STORE))), done]);
      return result;
    } finally {
      opened.close();
    }
  }

  const load = async (): Promise<DeviceKey | undefined> => {
    const pair = (await withStore("readonly", (store) => store.get(name))) as KeyPair | undefined;
    return pair && toDeviceKey(pair);
  };

  return {
    load,
    async create() {
      const pair = await generate();
      try {
        // `add` refuses where there is one: of two tabs only the first one's key is stored.
        await withStore("readwrite", (store) => store.add(pair, name));
      } catch (error) {
        const stored = await load();
        if (stored) return stored;
        throw error;
      }
      return toDeviceKey(pair);
    },
    async remove() {
      await withStore("readwrite", (store) => store.delete(name));
    },
  };
}

const resultOf = (request: Request): Promise<unknown> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new KeyStoreError("IndexedDB failed"));
  });
