import type { SignedTemplates } from "../domain/ports.ts";
import type { SequenceNumberUse } from "../policy/effects.ts";

type Account = Parameters<SignedTemplates["has"]>[0];

export interface MemorySignedTemplates extends SignedTemplates {
  record(account: Account, use: SequenceNumberUse, now: Date): Promise<boolean>;
  clear(): void;
}

/** Sequence numbers in memory. */
export function memorySignedTemplates(): MemorySignedTemplates {
  const numbers = new Map<string, { number: bigint; at: Date; by: string; keptAt: Date | undefined }>();
  const keyOf = ({ accountId, chainName, serverKeyIndex }: Account) => `${accountId}/${chainName}/${serverKeyIndex}/`;
  const idOf = (account: Account, number: bigint) => keyOf(account) + number;
  return {
    clear: () => numbers.clear(),
    async record(account, { number, sessionId: by, limit, openSince, unfrozenAt }, now) {
      const id = idOf(account, number);
      const others = [...numbers].filter(
        ([other, row]) => other.startsWith(keyOf(account)) && other !== id && row.by === by && row.at > openSince,
      );
      const known = numbers.get(id);
      const keptAt = known && unfrozenAt && known.at <= unfrozenAt ? known.at : known?.keptAt;
      if (others.length < limit) numbers.set(id, { number, at: now, by, keptAt });
      return others.length < limit;
    },
    async laterKeptAt(account, number, { since, unfrozenAt }) {
      const kept = [...numbers].flatMap(([id, row]) => {
        const at = row.at <= unfrozenAt ? row.at : row.keptAt;
        return id.startsWith(keyOf(account)) && row.number > number && at && at > since ? [at.getTime()] : [];
      });
      return kept.length === 0 ? undefined : new Date(Math.max(...kept));
    },
    has: async (account, number) => numbers.has(idOf(account, number)),
  };
}
