import { AppError } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import { type Postgres, type Queries, sql } from "@countersign/postgres";
import type { Challenge, ChallengeStore, PasskeyCounter } from "../domain/sign-in/ports.ts";
import { insertSession } from "./postgres-session-store.ts";

const MAX_ATTEMPTS = 5;

interface Row {
  account_id: string;
  chain_name: string;
  app_id: string;
  app_name: string;
  type: string;
  signer_algorithm: PublicKey["algorithm"] | null;
  signer: string | null;
  auth_time: Date | null;
  expires_at: Date;
}

const toChallenge = (data: string, row: Row): Challenge => ({
  data,
  type: row.type === "passkey" ? "passkey" : "device-key",
  accountId: row.account_id,
  chainName: row.chain_name,
  app: { appId: row.app_id, appName: row.app_name },
  signer: row.signer_algorithm && row.signer ? { algorithm: row.signer_algorithm, publicKey: row.signer } : undefined,
  authTime: row.auth_time ?? undefined,
  expiresAt: row.expires_at,
});

/**
 * Advances a passkey's counter; the statement decides between two answers at once. A counter that has not
 * grown is of a copy, or of an answer that was overtaken.
 */
async function advance(tx: Queries, accountId: string, { key, signCount }: PasskeyCounter, now: Date): Promise<void> {
  const advanced = await tx.execute(sql`
    INSERT INTO passkey_counter AS c (account_id, public_key, sign_count, updated_at)
    VALUES (${accountId}::uuid, ${key.publicKey}, ${signCount}, ${now})
    ON CONFLICT (account_id, public_key) DO UPDATE SET sign_count = EXCLUDED.sign_count, updated_at = EXCLUDED.updated_at
    WHERE c.sign_count < EXCLUDED.sign_count OR (c.sign_count = 0 AND EXCLUDED.sign_count = 0)`);
  if (advanced === 0) throw new AppError("InvalidSignature", { detail: "The passkey's signature counter went back" });
}

/** Keeps challenges in Postgres: the row decides which answer is the first. */
export function postgresChallengeStore(postgres: Postgres): ChallengeStore {
  return {
    async insert({ data, type, accountId, chainName, app, signer, authTime, expiresAt }) {
      await postgres.execute(sql`
        INSERT INTO challenge (data, type, account_id, chain_name, app_id, app_name, signer_algorithm, signer, auth_time, expires_at)
        VALUES (${data}, ${type}, ${accountId}::uuid, ${chainName}, ${app.appId}, ${app.appName}, ${signer?.algorithm ?? null},
          ${signer?.publicKey ?? null}, ${authTime ?? null}, ${expiresAt})`);
    },

    async find(data) {
      const [row] = await postgres.query<Row>(sql`
        SELECT type, account_id, chain_name, app_id, app_name, signer_algorithm, signer, auth_time, expires_at FROM challenge
        WHERE data = ${data} AND used_at IS NULL AND attempts < ${MAX_ATTEMPTS}`);
      return row && toChallenge(data, row);
    },

    async attempt(data) {
      const counted = await postgres.execute(sql`
        UPDATE challenge SET attempts = attempts + 1
        WHERE data = ${data} AND used_at IS NULL AND attempts < ${MAX_ATTEMPTS}`);
      return counted === 1;
    },

    succeed: (data, session, now, requestId, counter) =>
      postgres.transaction(async (tx) => {
        const used = await tx.execute(
          sql`UPDATE challenge SET used_at = ${now} WHERE data = ${data} AND used_at IS NULL`,
        );
        if (used === 0) return false;
        if (counter) await advance(tx, session.accountId, counter, now);
        await insertSession(tx, session, requestId);
        return true;
      }),
  };
}
