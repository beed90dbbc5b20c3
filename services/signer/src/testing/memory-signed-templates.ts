import type { SignedTemplates } from "../domain/ports.ts";

/** Sequence numbers in memory. */
export function memorySignedTemplates(): SignedTemplates & { clear(): void } {
  const numbers = new Set<string>();
  const idOf: (...of: Parameters<SignedTemplates["has"]>) => string = (account, number) =>
    `${account.accountId}/${account.chainName}/${account.serverKeyIndex}/${number}`;
  return {
    clear: () => numbers.clear(),
    note: async (account, number) => void numbers.add(idOf(account, number)),
    has: async (account, number) => numbers.has(idOf(account, number)),
  };
}
