import { type Queries, sql } from "@countersign/postgres";
import type { SignedUp } from "@countersign/runtime";

/**
 * Ends everything that a database which went back may grant a second time: sessions and their refresh tokens,
 * challenges, 2FA requests that are under way, requests to lift a freeze. Without its keys every token that
 * was ever issued is refused; the next process makes a new key. Idempotent.
 */
export async function endAllAccess(tx: Queries): Promise<{ sessions: number }> {
  const sessions = await tx.execute(sql`
    UPDATE session SET ended_at = now(), ended_cause = 'database-restored' WHERE ended_at IS NULL`);
  await tx.execute(sql`DELETE FROM token_key`);
  await tx.execute(sql`DELETE FROM challenge`);
  await tx.execute(sql`
    UPDATE two_factor_sign_in SET expires_at = now() WHERE finished_at IS NULL AND expires_at > now()`);
  await tx.execute(sql`DELETE FROM freeze_party WHERE joined_at IS NULL`);
  await tx.execute(sql`
    UPDATE freeze_party SET time_lock_id = NULL, asked_at = NULL, available_at = NULL, lapses_at = NULL`);
  return { sessions };
}

/** Returns the accounts whose sign-up was under way or ended since a moment. */
export const signedUpSince = (tx: Queries, since: Date): Promise<SignedUp[]> =>
  tx.query<SignedUp>(sql`
    SELECT account_id AS "accountId", chain_name AS "chainName",
      json_build_object('algorithm', account_key_algorithm, 'publicKey', account_key) AS "userKey"
    FROM sign_up WHERE completed_at IS NULL OR completed_at >= ${since} OR created_at >= ${since}`);
