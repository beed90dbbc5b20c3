import { type Queries, sql } from "@countersign/postgres";

/** Access that a transaction takes away, or gives back. */
export interface TokenStateChange {
  readonly kind: "session" | "account" | "key";
  readonly accountId: string;
  /** The session's or the account's id; of a key, account id, algorithm and key, separated by slashes. */
  readonly subject: string;
  /** False: a freeze was lifted, `until` says when. */
  readonly active?: boolean;
  /** When the entry ends to matter; without it and without `forMs`, when it is lifted. */
  readonly until?: Date;
  /** Milliseconds from the database's time on: `until` for those whose own time may be long past. */
  readonly forMs?: number;
}

/**
 * Writes entries of the token state, each at the next position of its bucket. The rows of `token_state_head`
 * stay locked until the commit, so that a bucket's positions become visible in their order. This must be the
 * transaction's last statement that locks anything: who holds a head waits for heads of higher buckets only,
 * so no two transactions wait for each other.
 */
export async function writeTokenState(tx: Queries, changes: readonly TokenStateChange[]): Promise<void> {
  if (changes.length === 0) return;
  await tx.execute(sql`
    WITH change AS (
      SELECT DISTINCT ON (kind, subject) get_byte(uuid_send("accountId"), 15) AS bucket, kind, subject,
        coalesce(active, true) AS active, coalesce(until, now() + "forMs" * interval '1 millisecond') AS until
      FROM json_to_recordset(${JSON.stringify(changes)}::json)
        AS c(kind text, "accountId" uuid, subject text, active boolean, until timestamptz, "forMs" bigint)),
    head AS (
      INSERT INTO token_state_head AS h (bucket, position) SELECT DISTINCT bucket, 1 FROM change ORDER BY bucket
      ON CONFLICT (bucket) DO UPDATE SET position = h.position + 1 RETURNING bucket, position)
    INSERT INTO token_state_entry AS t (bucket, kind, subject, active, until, position)
    SELECT bucket, kind, subject, active, until, position FROM change JOIN head USING (bucket)
    ON CONFLICT (bucket, kind, subject) DO UPDATE SET active = EXCLUDED.active, position = EXCLUDED.position,
      until = CASE WHEN t.kind = 'key' THEN greatest(t.until, EXCLUDED.until) ELSE EXCLUDED.until END`);
}
