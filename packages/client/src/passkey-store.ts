import {
  type BrowserPasskey,
  browserPasskey,
  createBrowserPasskey,
  type PasskeyCredentials,
} from "./browser-passkey.ts";
import type { TextStorage } from "./credential-store.ts";
import { createOnce, type KeyStore } from "./key-store.ts";

/** Options of `passkeyStore`. */
export interface PasskeyStoreOptions {
  /** The domain that the passkey belongs to. */
  rpId: string;
  /** The service's name, for the browser's dialog. */
  rpName: string;
  /** The person's name, which the browser shows beside the passkey. */
  userName: string;
  /** Where its public key and credential id are kept; default `localStorage`. They are no secrets. */
  storage?: TextStorage;
  /** Default: `navigator.credentials`. */
  credentials?: PasskeyCredentials;
}

/**
 * Returns a store of one passkey of this relying party. The browser or system keeps the key; the store keeps
 * `publicKey` and `credentialId`, which are recorded nowhere else.
 * @example
 * const store = passkeyStore({ rpId: location.hostname, rpName: "My app", userName: "ada@example.com" });
 */
export function passkeyStore({ storage, ...options }: PasskeyStoreOptions): KeyStore<BrowserPasskey> {
  const used = storage ?? localStorage;
  const name = `countersign-passkey/${options.rpId}`;
  const { credentials } = options;
  const read = (): BrowserPasskey | undefined => {
    const text = used.getItem(name);
    if (text === null) return undefined;
    const { publicKey, credentialId, rpId } = JSON.parse(text) as BrowserPasskey;
    return browserPasskey({ publicKey, credentialId, rpId, ...(credentials && { credentials }) });
  };
  const load = async () => read();
  const make = async (): Promise<BrowserPasskey> => {
    const passkey = await createBrowserPasskey(options);
    // Another tab may have stored one while the dialog was open, and an account may depend on it.
    const stored = read();
    if (stored) return stored;
    const { publicKey, credentialId, rpId } = passkey;
    used.setItem(name, JSON.stringify({ publicKey, credentialId, rpId }));
    return passkey;
  };
  return {
    load,
    create: createOnce(load, make),
    remove: async () => used.removeItem(name),
  };
}
