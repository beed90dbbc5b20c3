import type { Credentials, UserKey } from "./resources.ts";
import { claimsOf } from "./token-claims.ts";

/**
 * Where a client keeps its tokens. Tabs that share a store share the session, and never refresh twice. On a
 * phone, tokens must be in no backup. Each `load` and `save` must end: the next change waits for it.
 * @example
 * const store: CredentialStore = {
 *   name: "my-app",
 *   load: () => JSON.parse(localStorage.getItem("tokens") ?? "null") ?? undefined,
 *   save: (credentials) => localStorage.setItem("tokens", JSON.stringify(credentials ?? null)),
 * };
 */
export interface CredentialStore {
  /**
   * The same in every tab that shares the store; it names the lock.
   * @example const { name } = browserCredentials();
   */
  readonly name: string;
  /**
   * Returns the stored tokens.
   * @example const credentials = await browserCredentials().load();
   */
  load(): Credentials | undefined | Promise<Credentials | undefined>;
  /**
   * Stores a new pair; undefined: removes it.
   * @example await browserCredentials().save(undefined);
   */
  save(credentials: Credentials | undefined): void | Promise<void>;
  /**
   * Calls `listener` when another tab has changed what is stored. Returns a function that unsubscribes.
   * @example const stop = browserCredentials().subscribe?.(() => show("another tab signed in or out"));
   */
  subscribe?(listener: () => void): () => void;
}

/** The part of `localStorage` that is used. */
export type TextStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/**
 * Returns a store in `localStorage`, or in another storage, for all tabs of an origin.
 * @example new CountersignClient({ baseUrl, deviceKey, store: browserCredentials() });
 */
export function browserCredentials({
  name = "countersign-session",
  storage,
}: {
  name?: string;
  storage?: TextStorage;
} = {}): CredentialStore {
  const used = storage ?? localStorage;
  return {
    name,
    load() {
      try {
        const stored = JSON.parse(used.getItem(name) ?? "null") as Partial<Credentials> | null;
        return stored?.refreshToken ? (stored as Credentials) : undefined;
      } catch (error) {
        // Another program's text is no session: a client that could not be made would never replace it.
        if (error instanceof SyntaxError) return undefined;
        throw error;
      }
    },
    save(credentials) {
      if (credentials === undefined) used.removeItem(name);
      else used.setItem(name, JSON.stringify(credentials));
    },
    subscribe(listener) {
      const changed = (event: { key: string | null }) => {
        // A null: everything was cleared.
        if (event.key === name || event.key === null) listener();
      };
      const page = globalThis as unknown as Partial<PageEvents>;
      page.addEventListener?.("storage", changed);
      return () => page.removeEventListener?.("storage", changed);
    },
  };
}

interface PageEvents {
  addEventListener(type: "storage", listener: (event: { key: string | null }) => void): void;
  removeEventListener(type: "storage", listener: (event: { key: string | null }) => void): void;
}

/** How a client is given its tokens: see `ClientOptions`. */
interface StoreOptions {
  deviceKey: UserKey;
  store?: CredentialStore;
  credentials?: Credentials;
  onCredentials?: (credentials: Credentials | undefined) => unknown;
}

/**
 * Returns the client's store: the given one, or the options' tokens in memory. Tokens of another key are
 * none: a backup brings them to a phone that has a key of its own.
 */
export function storeOf({ deviceKey, store, credentials, onCredentials }: StoreOptions): CredentialStore {
  let kept = credentials;
  const memory: CredentialStore = {
    name: "",
    load: () => kept,
    save(next) {
      kept = next;
    },
  };
  const used = store ?? memory;
  const ownOnly = (pair: Credentials | undefined) => {
    const key = pair && claimsOf(pair.accessToken).account_key?.key;
    return key === undefined || key === deviceKey.publicKey ? pair : undefined;
  };
  return {
    name: used.name,
    load() {
      const loaded = used.load();
      return loaded && "then" in loaded ? loaded.then(ownOnly) : ownOnly(loaded);
    },
    async save(next) {
      await used.save(next);
      await onCredentials?.(next);
    },
    subscribe: (listener) => used.subscribe?.(listener) ?? (() => {}),
  };
}
