import type { PublicKey } from "@countersign/keys";
import { createShardBatcher, type Postgres, sql } from "@countersign/postgres";
import type { BlockedKeyStore } from "../domain/access/revoked-access.ts";
import { toKey } from "./rows.ts";

interface Row {
  account_id: string;
  /** Null in the row of an account that has left. */
  algorithm: string | null;
  public_key: string | null;
  until: Date | null;
}

interface Asked {
  readonly accountId: string;
  readonly now: Date;
}

interface Found {
  readonly left: boolean;
  readonly keys: PublicKey[];
}

/**
 * Reads blocked keys, and which accounts have left, from Postgres. Every challenge asks for both of its
 * account; requests that wait share a query.
 */
export function postgresBlockedKeyStore(postgres: Postgres): BlockedKeyStore {
  const read = async (asked: readonly Asked[]): Promise<Found[]> => {
    const ids = asked.map(({ accountId }) => accountId);
    const rows = await postgres.query<Row>(sql`
      SELECT account_id, algorithm, public_key, until FROM blocked_key WHERE account_id = ANY(${ids}::uuid[])
      UNION ALL SELECT account_id, NULL, NULL, NULL FROM left_account WHERE account_id = ANY(${ids}::uuid[])`);
    const found = Map.groupBy(rows, (row) => row.account_id);
    return asked.map(({ accountId, now }) => {
      const ofAccount = found.get(accountId) ?? [];
      return {
        left: ofAccount.some(({ algorithm }) => algorithm === null),
        keys: ofAccount.flatMap(({ algorithm, public_key, until }) =>
          algorithm !== null && public_key !== null && (until === null || until > now)
            ? toKey(algorithm, public_key)
            : [],
        ),
      };
    });
  };
  const find = createShardBatcher(postgres, ({ accountId }: Asked) => accountId, read);
  return {
    blockedKeys: async (accountId, now) => (await find({ accountId, now })).keys,
    hasLeft: async (accountId) => (await find({ accountId, now: new Date(0) })).left,
  };
}
