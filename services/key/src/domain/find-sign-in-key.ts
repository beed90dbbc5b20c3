import { AppError } from "@countersign/core";
import { type PublicKey, samePublicKey } from "@countersign/keys";
import type { KeyStore } from "./ports.ts";
import { isActive, type Registration, SIGN_IN_ORIGINS } from "./registration.ts";

export interface FindSignInKey {
  accountId: string;
  chainName: string;
  /** An account key or a device's identity key. */
  publicKey: PublicKey;
}

/**
 * Returns the registration that may sign in with this key: as its account key, otherwise the newest with it
 * as its device key. Errors: PleaseRegisterKey, for a key that is unknown, another account's, revoked, or
 * unregistered.
 */
export function findSignInKey({ store }: { store: KeyStore }) {
  return async (query: FindSignInKey): Promise<Registration> => {
    const found = (await store.findByKey(query.accountId, query.chainName, query.publicKey)).filter(
      (registration) => isActive(registration) && SIGN_IN_ORIGINS.includes(registration.origin),
    );
    const registration = found.find(({ accountKey }) => samePublicKey(accountKey, query.publicKey)) ?? found.at(-1);
    if (!registration) throw new AppError("PleaseRegisterKey");
    return registration;
  };
}
