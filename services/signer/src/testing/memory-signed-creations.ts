import type { SignedCreations } from "../domain/ports.ts";

/** Signed creations in memory. */
export function memorySignedCreations(): SignedCreations & { clear(): void } {
  const known = new Set<string>();
  return {
    clear: () => known.clear(),
    async note(chainName, accountIds, version) {
      for (const accountId of accountIds) known.add(`${chainName}/${accountId}/${version}`);
    },
    has: async ({ chainName, accountId }, version) => known.has(`${chainName}/${accountId}/${version}`),
  };
}
