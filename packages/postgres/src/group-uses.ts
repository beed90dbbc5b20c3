import type { PublicKey } from "@countersign/keys";
import { type Batcher, createBatcher } from "./batcher.ts";

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

/**
 * Records uses of keys; uses that arrive while a statement runs share the next one, since every sign-in
 * records one. Keys are sorted, so that replicas do not deadlock.
 */
export function groupUses(write: (uses: LatestUses) => Promise<unknown>): Batcher<KeyUse, void> {
  return createBatcher<KeyUse, void>(async (uses) => {
    const latest = new Map<string, KeyUse>();
    for (const use of uses) {
      const id = `${use.accountId} ${use.key.algorithm} ${use.key.publicKey}`;
      const known = latest.get(id);
      if (known === undefined || known.usedAt < use.usedAt) latest.set(id, use);
    }
    const sorted = [...latest].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, use]) => use);
    await write({
      accountIds: sorted.map(({ accountId }) => accountId),
      algorithms: sorted.map(({ key }) => key.algorithm),
      keys: sorted.map(({ key }) => key.publicKey),
      usedAt: sorted.map(({ usedAt }) => usedAt.toISOString()),
    });
    return uses.map(() => undefined);
  });
}
