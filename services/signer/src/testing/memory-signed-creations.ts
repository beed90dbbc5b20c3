import type { PublicKey } from "@countersign/keys";
import type { SignedCreations } from "../domain/ports.ts";

/** Signed creations in memory; their user keys go to `addedKeys`. */
export function memorySignedCreations(addedKeys: {
  recordCreation(keys: readonly PublicKey[], now: Date): Promise<void>;
}): SignedCreations & { clear(): void } {
  const known = new Set<string>();
  return {
    clear: () => known.clear(),
    async record({ chainName, serverKeyVersion, accounts }, now) {
      for (const { accountId } of accounts) known.add(`${chainName}/${accountId}/${serverKeyVersion}`);
      await addedKeys.recordCreation(
        accounts.map(({ userKey }) => userKey),
        now,
      );
    },
    has: async ({ chainName, accountId }, version) => known.has(`${chainName}/${accountId}/${version}`),
  };
}
