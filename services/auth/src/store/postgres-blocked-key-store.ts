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

/**
 * Reads blocked keys, and which accounts have left, from Postgres. Every challenge asks for both of its
 * account; requests that wait share a query.
 */
export function postgresBlockedKeyStore(postgres: Postgres): BlockedKeyStore {
  const read = async (ids: readonly string[]): Promise<Row[][]> => {
    const rows = await postgres.query<Row>(sql`
      SELECT account_id, algorithm, public_key, until FROM blocked_key WHERE account_id = ANY(${ids}::uuid[])
      UNION ALL SELECT account_id, NULL, NULL, NULL FROM left_account WHERE account_id = ANY(${ids}::uuid[])`);
    const found = Map.groupBy(rows, (row) => row.account_id);
    return ids.map((id) => found.get(id) ?? []);
  };
  const find = createShardBatcher(postgres, (accountId: string) => accountId, read);
  return {
    blockedKeys: async (accountId, now) =>
      (await find(accountId)).flatMap(({ algorithm, public_key, until }) =>
        algorithm !== null && public_key !== null && (until === null || until > now)
          ? toKey(algorithm, public_key)
          : [],
      ),
    hasLeft: async (accountId) => (await find(accountId)).some(({ algorithm }) => algorithm === null),
  };
}
