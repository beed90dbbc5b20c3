import { type Queries, sql } from "@countersign/postgres";
import type { Idempotency } from "../domain/idempotency.ts";

interface Used {
  accountId: string;
  resultId: string | null;
  sameBody: boolean;
}

/** Returns the earlier use of a key, and whether that was for the same body; undefined where it is unused. */
export async function findIdempotencyKey(tx: Queries, { id, fingerprint }: Idempotency): Promise<Used | undefined> {
  const [used] = await tx.query<Used>(sql`
    SELECT account_id AS "accountId", result_id AS "resultId", fingerprint = ${fingerprint} AS "sameBody"
    FROM used_idempotency_key WHERE id = ${id}`);
  return used;
}

/**
 * Records the use of a key; false where it is used already. Waits for a transaction that has recorded it and
 * not ended.
 */
export async function insertIdempotencyKey(
  tx: Queries,
  { id, fingerprint }: Idempotency,
  use: { accountId: string; resultId?: string; now: Date },
): Promise<boolean> {
  const { accountId, resultId = null, now } = use;
  const count = await tx.execute(sql`
    INSERT INTO used_idempotency_key (id, fingerprint, account_id, result_id, created_at)
    VALUES (${id}, ${fingerprint}, ${accountId}::uuid, ${resultId}::uuid, ${now}::timestamptz) ON CONFLICT DO NOTHING`);
  return count === 1;
}
