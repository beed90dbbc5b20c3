import type { PublicKey } from "@countersign/keys";
import type { Postgres } from "./postgres.ts";
import { createShardBatcher } from "./shards.ts";

/** One use of an account's key. */
export interface KeyUse {
  accountId: string;
  key: PublicKey;
  usedAt: Date;
}

/** The latest use of each key of an account, as columns for `unnest`; times are ISO 8601. */
export interface LatestUses {
  accountIds: string[];
  algorithms: string[];
  keys: string[];
  usedAt: string[];
}

const idOf = ({ accountId, key }: KeyUse): string => `${accountId} ${key.algorithm} ${key.publicKey}`;

/**
 * Records uses of keys; uses that arrive while a statement runs share the next one, since every sign-in
 * records one. Keys are sorted, so that replicas do not deadlock. `write` may return a result for each row,
 * which is the result of all uses of its key. `waitMs`: see createBatcher.
 */
export function groupUses<R = void>(
  postgres: Pick<Postgres, "isDistributed">,
  write: (uses: LatestUses) => Promise<readonly R[]>,
  waitMs?: number,
): (use: KeyUse) => Promise<R> {
  async function record(uses: readonly KeyUse[]): Promise<R[]> {
    const latest = new Map<string, KeyUse>();
    for (const use of uses) {
      const id = idOf(use);
      const known = latest.get(id);
      if (known === undefined || known.usedAt < use.usedAt) latest.set(id, use);
    }
    const sorted = [...latest].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, use]) => use);
    const results = await write({
      accountIds: sorted.map(({ accountId }) => accountId),
      algorithms: sorted.map(({ key }) => key.algorithm),
      keys: sorted.map(({ key }) => key.publicKey),
      usedAt: sorted.map(({ usedAt }) => usedAt.toISOString()),
    });
    const resultOf = new Map(sorted.map((use, i) => [idOf(use), results[i] as R]));
    return uses.map((use) => resultOf.get(idOf(use)) as R);
  }
  return createShardBatcher(postgres, ({ accountId }) => accountId, record, undefined, waitMs);
}
