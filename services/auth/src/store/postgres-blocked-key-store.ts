import { createBatcher } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import { type Postgres, sql } from "@countersign/postgres";
import type { BlockedKeyStore } from "../domain/access/revoked-access.ts";
import { toKey } from "./rows.ts";

interface Row {
  at: bigint;
  left: boolean;
  algorithm: string | null;
  public_key: string | null;
}

/**
 * Reads blocked keys, and which accounts have left, from Postgres. Every challenge asks for both of its
 * account; requests that wait share a query.
 */
export function postgresBlockedKeyStore(postgres: Postgres): BlockedKeyStore {
  const find = createBatcher<{ accountId: string; now: Date }, { left: boolean; keys: PublicKey[] }>(
    async (accounts) => {
      const ids = accounts.map(({ accountId }) => accountId);
      const times = accounts.map(({ now }) => now);
      const rows = await postgres.query<Row>(sql`
      SELECT at, l.account_id IS NOT NULL AS left, b.algorithm, b.public_key
      FROM unnest(${ids}::uuid[], ${times}::timestamptz[]) WITH ORDINALITY AS a(account_id, now, at)
      LEFT JOIN left_account AS l ON l.account_id = a.account_id
      LEFT JOIN blocked_key AS b ON b.account_id = a.account_id AND (b.until IS NULL OR b.until > a.now)`);
      const found = Map.groupBy(rows, ({ at }) => Number(at) - 1);
      return accounts.map((_, i) => ({
        left: found.get(i)!.some(({ left }) => left),
        keys: found
          .get(i)!
          .flatMap((row) => (row.algorithm && row.public_key ? toKey(row.algorithm, row.public_key) : [])),
      }));
    },
  );
  return {
    blockedKeys: async (accountId, now) => (await find({ accountId, now })).keys,
    hasLeft: async (accountId) => (await find({ accountId, now: new Date(0) })).left,
  };
}
