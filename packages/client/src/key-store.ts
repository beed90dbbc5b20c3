import type { UserKey } from "./resources.ts";

/**
 * Where a device's key is kept. Keys are never overwritten: an account may depend on one, also where the
 * sign-up's answer was lost. Adapters: `indexedDbKeyStore`, `passkeyStore`, `memoryKeyStore`, and
 * `hardwareKeyStore` of `@countersign/react-native`.
 */
export interface KeyStore<Key extends UserKey = UserKey> {
  /**
   * Returns the stored key, or undefined.
   * @example const key = await indexedDbKeyStore().load();
   */
  load(): Promise<Key | undefined>;
  /**
   * Creates a key and stores it before it returns it. Where there is one already, also one that another tab
   * has just created, returns that one.
   * @example const key = await indexedDbKeyStore().create();
   */
  create(): Promise<Key>;
  /**
   * Deletes the stored key for good: only once it is revoked on every chain, or was never used.
   * @example await indexedDbKeyStore().remove();
   */
  remove(): Promise<void>;
}

/**
 * Returns the stored key; creates it the first time.
 * @example const deviceKey = await loadOrCreateKey(indexedDbKeyStore());
 */
export const loadOrCreateKey = async <Key extends UserKey>(store: KeyStore<Key>): Promise<Key> =>
  (await store.load()) ?? store.create();

/**
 * Returns a function that loads a key, or makes one: calls at the same time, as of a double click, share one
 * key. For writing a `KeyStore`.
 * @example
 * const { load, create: make, remove } = indexedDbKeyStore();
 * const store: KeyStore = { load, create: createOnce(load, make), remove };
 */
export function createOnce<Key>(load: () => Promise<Key | undefined>, make: () => Promise<Key>): () => Promise<Key> {
  let creating: Promise<Key> | undefined;
  return () => {
    creating ??= load()
      .then((stored) => stored ?? make())
      .finally(() => {
        creating = undefined;
      });
    return creating;
  };
}
