import type { KeyStore } from "./ports.ts";
import { type Registration, signsIn } from "./registration.ts";

/** Returns the account's passkeys that sign in on a chain, oldest first, for a sign-in that names no key. */
export function listPasskeys({ store }: { store: KeyStore }) {
  return async ({ accountId, chainName }: Pick<Registration, "accountId" | "chainName">): Promise<Registration[]> => {
    const active = await store.list(accountId, { includeRevoked: false });
    return active.filter((each) => each.type === "passkey" && each.chainName === chainName && signsIn(each));
  };
}
