import { createBatcher } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import { type Postgres, sql } from "@countersign/postgres";
import type { BlockedKeyStore } from "../domain/access/revoked-access.ts";
import { toKey } from "./rows.ts";

interface Row {
  account_id: string;
  algorithm: string;
  public_key: string;
}

/**
 * Reads blocked keys from Postgres. Every challenge asks for those of its account; requests that wait share a
 * query.
 */
export function postgresBlockedKeyStore(postgres: Postgres): BlockedKeyStore {
  const find = createBatcher<{ accountId: string; now: Date }, PublicKey[]>(async (accounts) => {
    const ids = accounts.map(({ accountId }) => accountId);
    const times = accounts.map(({ now }) => now);
    const rows = await postgres.query<Row & { at: bigint }>(sql`
      SELECT at, b.account_id, b.algorithm, b.public_key
      FROM unnest(${ids}::uuid[], ${times}::timestamptz[]) WITH ORDINALITY AS a(account_id, now, at)
      JOIN blocked_key AS b ON b.account_id = a.account_id AND (b.until IS NULL OR b.until > a.now)`);
    const found = Map.groupBy(rows, ({ at }) => Number(at) - 1);
    return accounts.map((_, i) => (found.get(i) ?? []).map((row) => toKey(row.algorithm, row.public_key)));
  });
  return { blockedKeys: (accountId, now) => find({ accountId, now }) };
}
