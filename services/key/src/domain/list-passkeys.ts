import type { KeyStore } from "./ports.ts";
import { type Registration, SIGN_IN_ORIGINS } from "./registration.ts";

export interface ListPasskeys {
  accountId: string;
  chainName: string;
}

/**
 * Returns the account's passkeys that may sign in on a chain, oldest first, for a sign-in that names no key.
 */
export function listPasskeys({ store }: { store: KeyStore }) {
  return async ({ accountId, chainName }: ListPasskeys): Promise<Registration[]> => {
    const active = await store.list(accountId, { includeRevoked: false });
    return active.filter(
      (each) => each.type === "passkey" && each.chainName === chainName && SIGN_IN_ORIGINS.includes(each.origin),
    );
  };
}
