import { type PublicKey, samePublicKey } from "@countersign/keys";
import type { ChainDirectory, ChainKey, ChainKeys, KeyStore } from "./ports.ts";
import { isActive, type Registration } from "./registration.ts";

const isIt = (key: ChainKey, { keyIndex, accountKey }: { keyIndex: number; accountKey: PublicKey }) =>
  key.index === keyIndex && samePublicKey(key.publicKey, accountKey);

/**
 * Returns how the registrations of an account differ from its keys on one chain, and the meaning of each
 * difference; empty where they agree.
 */
export function compareKeys(all: readonly Registration[], { chainName, keys }: ChainKeys): string[] {
  const found: string[] = [];
  const registrations = all.filter((each) => each.chainName === chainName);
  for (const registration of registrations) {
    const { id, keyIndex, kind, weight } = registration;
    const named = `${kind} key ${keyIndex} (${id})`;
    const key = keys.find(({ index }) => index === keyIndex);
    if (!isActive(registration)) {
      if (key && !key.revoked && isIt(key, registration))
        found.push(`${named} is revoked here and active on chain: it still signs transactions`);
      continue;
    }
    if (!key) found.push(`${named} is not on chain: it signs in and can sign no transaction`);
    else if (!isIt(key, registration)) found.push(`${named} is another key on chain: it signs in for nothing`);
    else if (key.revoked) found.push(`${named} is revoked on chain and signs in here: the chain was not followed`);
    else if (weight !== 0 && weight !== key.weight)
      found.push(`${named} has weight ${weight} here, ${key.weight} on chain`);
  }
  for (const key of keys) {
    if (key.revoked || key.role === "server") continue;
    if (!registrations.some((registration) => isIt(key, registration)))
      found.push(`key ${key.index} on chain is not listed here: the person does not see it`);
  }
  return found;
}

export interface CompareKeysOptions {
  readonly store: Pick<KeyStore, "list">;
  readonly chain: Pick<ChainDirectory<never>, "list">;
}

/** Compares an account's registrations with its chains; changes nothing. */
export const compareAccountKeys =
  ({ store, chain }: CompareKeysOptions) =>
  async (accountId: string): Promise<string[]> => {
    // The registrations first: of a key that comes in between, the chain is newer, as it always may be.
    const registrations = await store.list(accountId, { includeRevoked: true });
    const chains = await chain.list(accountId);
    return chains.flatMap((each) =>
      compareKeys(registrations, each).map((difference) => `${each.chainName}: ${difference}`),
    );
  };
