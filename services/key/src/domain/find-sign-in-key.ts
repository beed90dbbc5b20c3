import { type PublicKey, samePublicKey } from "@countersign/keys";
import type { KeyStore } from "./ports.ts";
import { type Registration, signsIn } from "./registration.ts";

interface FindSignInKey extends Pick<Registration, "accountId" | "chainName"> {
  /** An account key or a device's identity key. */
  publicKey: PublicKey;
}

/**
 * Returns the registration that may sign in with this key: as its account key, otherwise the newest with it
 * as its device key. Undefined for a key that is unknown, another account's, revoked, or unregistered.
 */
export function findSignInKey({ store }: { store: KeyStore }) {
  return async ({ accountId, chainName, publicKey }: FindSignInKey): Promise<Registration | undefined> => {
    const found = (await store.findByKey(accountId, chainName, publicKey)).filter(signsIn);
    return found.find(({ accountKey }) => samePublicKey(accountKey, publicKey)) ?? found.at(-1);
  };
}
