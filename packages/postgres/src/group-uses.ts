import type { PublicKey } from "@countersign/keys";
import { type GroupedWrite, groupWrites } from "./group-writes.ts";

/** An account's key was used. */
export interface KeyUse {
  accountId: string;
  key: PublicKey;
  usedAt: Date;
}

/** Each key of an account once with its latest use, as columns for `unnest`; times are ISO 8601. */
export interface LatestUses {
  accountIds: string[];
  algorithms: string[];
  keys: string[];
  usedAt: string[];
}

/**
 * Notes uses of keys, those that come while a statement runs in the next one: every sign-in of everybody comes through here. Keys are sorted, so that
 * replicas do not wait for each other crosswise.
 */
export function groupUses(write: (uses: LatestUses) => Promise<unknown>): GroupedWrite<KeyUse> {
  return groupWrites<KeyUse>(async (uses) => {
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
  });
}
