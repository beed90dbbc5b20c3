import { DAY_MS, HOUR_MS } from "@countersign/core";
import { type DeleteBatch, deleteInBatches, deletionOf, type Postgres, sql, sqlFile } from "@countersign/postgres";
import { KEPT_TOKEN_KEY_MS } from "../tokens/token-keys.ts";

/** An ended session and one that does not exist are the same to every caller; this long, support finds it. */
const ENDED_SESSION_MS = 7 * DAY_MS;

const deleteSessions = sqlFile(new URL("../../sql/delete-sessions.sql", import.meta.url));
const deleteSession = sqlFile(new URL("../../sql/delete-session.sql", import.meta.url));

/** Deletes sessions one by one: on a database of several nodes each is on the shard of its account. */
async function deleteEach(postgres: Postgres, before: Date, limit: number): Promise<number> {
  const ended = await postgres.query<{ account_id: string; id: string }>(sql`
    SELECT account_id, id FROM session WHERE coalesce(ended_at, expires_at) < ${before}::timestamptz
    ORDER BY coalesce(ended_at, expires_at) LIMIT ${limit}::int`);
  for (const { account_id: accountId, id } of ended) {
    await postgres.execute(sql`
      INSERT INTO account_app (account_id, app_id)
      SELECT account_id, app_id FROM session AS d WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid
        AND NOT EXISTS (SELECT FROM sign_up AS s WHERE s.account_id = d.account_id AND s.app_id = d.app_id)
      ON CONFLICT DO NOTHING`);
    await postgres.execute(deleteSession({ accountId, id, before }));
  }
  return ended.length;
}

/**
 * Deletes rows that cannot matter any more. Returns whether some are left. Every replica may do it: it is
 * idempotent.
 */
export function deleteExpiredRows(postgres: Postgres) {
  const sessions =
    (before: Date): DeleteBatch =>
    async (limit) => {
      if (await postgres.isDistributed()) return deleteEach(postgres, before, limit);
      const [row] = await postgres.query<{ deleted: number }>(deleteSessions({ before, limit }));
      return row!.deleted;
    };
  return (now: Date): Promise<boolean> => {
    const ago = (ms: number) => new Date(now.getTime() - ms);
    const deletion = deletionOf.bind(undefined, postgres);
    return deleteInBatches([
      deletion("challenge", sql`expires_at < ${ago(HOUR_MS)} ORDER BY expires_at`),
      sessions(ago(ENDED_SESSION_MS)),
      deletion("exchanged_code", sql`expires_at < ${now} ORDER BY expires_at`),
      deletion("used_idempotency_key", sql`created_at < ${ago(DAY_MS)} ORDER BY created_at`),
      // Those with a transaction stay: they name the transaction that added the key.
      deletion(
        "two_factor_sign_in",
        sql`transaction_id IS NULL AND expires_at < ${ago(7 * DAY_MS)} ORDER BY expires_at`,
      ),
      // A lift counts for a week (domain/freeze/freeze-rules.ts).
      deletion("recovery_lift", sql`last_at < ${ago(8 * DAY_MS)} ORDER BY last_at`),
      deletion("rate_limit", sql`expire < ${now.getTime()} ORDER BY expire`),
      deletion("blocked_key", sql`until < ${ago(HOUR_MS)} ORDER BY until`),
      deletion("token_key", sql`signs_until <= ${ago(KEPT_TOKEN_KEY_MS)} ORDER BY signs_until`),
      deletion("identity_key", sql`signs_until <= ${ago(KEPT_TOKEN_KEY_MS)} ORDER BY signs_until`),
      // Longer than any cursor is valid: until then a watcher must be sent the end of an entry.
      deletion("token_state_entry", sql`kind <> 'account' AND until < ${ago(HOUR_MS)} ORDER BY until`),
      // Longer than anything signed before the freeze is valid.
      deletion("token_state_entry", sql`kind = 'account' AND until < ${ago(25 * HOUR_MS)} ORDER BY until`),
    ]);
  };
}
