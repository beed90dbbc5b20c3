import type { CredentialStore, Credentials } from "@countersign/client";

/**
 * The functions of `expo-secure-store` that are used; `Options` are its own.
 * @example const store = secureCredentials(SecureStore, { name: "my-app.session" });
 */
export interface SecureTextStore<Options = object> {
  /** Returns a text, or null. */
  getItemAsync(key: string, options?: Options): Promise<string | null>;
  /** Stores a text in the Keychain or Keystore. */
  setItemAsync(key: string, value: string, options?: Options): Promise<void>;
  /** Deletes a text. */
  deleteItemAsync(key: string, options?: Options): Promise<void>;
  /** iOS: readable while the phone is unlocked, and in no backup. */
  readonly WHEN_UNLOCKED_THIS_DEVICE_ONLY?: number;
}

/**
 * Options of `secureCredentials`.
 * @example
 * import type { SecureCredentialsOptions } from "@countersign/react-native";
 * const options: SecureCredentialsOptions = { name: "my-app.session" };
 */
export interface SecureCredentialsOptions<Options = object> {
  /** The item's name; default `countersign.session`. */
  name?: string;
  /**
   * Passed on to the module; `keychainAccessible` is `WHEN_UNLOCKED_THIS_DEVICE_ONLY` by default. Take only
   * values of this kind, such as `SecureStore.AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY`.
   */
  options?: Options;
}

/**
 * Returns a store of the session's tokens in the phone's Keychain or Keystore. Changes are written in their
 * order. Where the first read fails, there is no session: a phone that was restored from another one's backup
 * cannot decrypt the item, and the device's key signs in again.
 * @example
 * const store = secureCredentials(SecureStore);
 * const client = new CountersignClient({ baseUrl, deviceKey, store });
 */
export function secureCredentials<Options>(
  module: SecureTextStore<Options>,
  { name = "countersign.session", options: given }: SecureCredentialsOptions<Options> = {},
): CredentialStore {
  const options = { keychainAccessible: module.WHEN_UNLOCKED_THIS_DEVICE_ONLY, ...given } as Options;
  let last: Promise<unknown> = Promise.resolve();
  const inOrder = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const next = last.then(work, work);
    last = next.catch(() => undefined);
    return next;
  };
  /** Whether the item was read or written: later failures must not look like a sign-out. */
  let isKnown = false;
  return {
    name,
    load: () =>
      inOrder(async () => {
        try {
          const text = await module.getItemAsync(name, options);
          const credentials = text === null ? undefined : (JSON.parse(text) as Credentials);
          isKnown = true;
          return credentials;
        } catch (error) {
          if (isKnown) throw error;
          return undefined;
        }
      }),
    save: (credentials) =>
      inOrder(async () => {
        if (credentials === undefined) await module.deleteItemAsync(name, options);
        else await module.setItemAsync(name, JSON.stringify(credentials), options);
        isKnown = true;
      }),
  };
}
