import type { CredentialStore, Credentials } from "@countersign/client";

/**
 * The functions of `expo-secure-store` that are used.
 * @example const store = secureCredentials(SecureStore, "my-app.session");
 */
export interface SecureTextStore {
  /** Returns a text, or null. */
  getItemAsync(key: string): Promise<string | null>;
  /** Stores a text in the Keychain or Keystore. */
  setItemAsync(key: string, value: string): Promise<void>;
  /** Deletes a text. */
  deleteItemAsync(key: string): Promise<void>;
}

/**
 * Returns a store of the session's tokens in the phone's Keychain or Keystore. Changes are written in their
 * order.
 * @example
 * const store = secureCredentials(SecureStore);
 * const client = new CountersignClient({ baseUrl, deviceKey, store });
 */
export function secureCredentials(module: SecureTextStore, name = "countersign.session"): CredentialStore {
  let last: Promise<unknown> = Promise.resolve();
  const inOrder = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const next = last.then(work, work);
    last = next.catch(() => undefined);
    return next;
  };
  return {
    name,
    load: () =>
      inOrder(async () => {
        const text = await module.getItemAsync(name);
        return text === null ? undefined : (JSON.parse(text) as Credentials);
      }),
    save: (credentials) =>
      inOrder(() =>
        credentials === undefined
          ? module.deleteItemAsync(name)
          : module.setItemAsync(name, JSON.stringify(credentials)),
      ),
  };
}
