import type { SignedTemplates } from "../domain/ports.ts";

/** Sequence numbers in memory. */
export function memorySignedTemplates(): SignedTemplates & { clear(): void } {
  const numbers = new Map<string, { at: Date; by: string }>();
  type Account = Parameters<SignedTemplates["has"]>[0];
  const keyOf = ({ accountId, chainName, serverKeyIndex }: Account) => `${accountId}/${chainName}/${serverKeyIndex}/`;
  const idOf = (account: Account, number: bigint) => keyOf(account) + number;
  return {
    clear: () => numbers.clear(),
    async note(account, number, now, { sessionId: by, most, since }) {
      const id = idOf(account, number);
      const others = [...numbers].filter(
        ([other, row]) => other.startsWith(keyOf(account)) && other !== id && row.by === by && row.at > since,
      );
      if (others.length < most) numbers.set(id, { at: now, by });
      return others.length < most;
    },
    has: async (account, number) => numbers.has(idOf(account, number)),
  };
}
