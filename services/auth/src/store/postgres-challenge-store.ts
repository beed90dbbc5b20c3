import { AppError } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import { createShardBatcher, type Postgres, sql } from "@countersign/postgres";
import type { Challenge, ChallengeStore, SignInKey } from "../domain/sign-in/ports.ts";
import { MAX_WRONG_ANSWERS, sessionBeginner } from "./begin-sessions.ts";

interface Row {
  data: string;
  account_id: string;
  chain_name: string;
  app_id: string;
  app_name: string;
  type: string;
  signer_algorithm: PublicKey["algorithm"] | null;
  signer: string | null;
  key: (SignInKey & { readAt: string }) | null;
  auth_time: Date | null;
  expires_at: Date;
}

const toColumns = ({ data, type, accountId, chainName, app, signer, key, authTime, expiresAt }: Challenge) => ({
  data,
  type,
  account_id: accountId,
  chain_name: chainName,
  app_id: app.appId,
  app_name: app.appName,
  signer_algorithm: signer?.algorithm,
  signer: signer?.publicKey,
  key,
  auth_time: authTime,
  attempts: 0,
  expires_at: expiresAt,
});

const toChallenge = (row: Row): Challenge => ({
  data: row.data,
  type: row.type === "passkey" ? "passkey" : "device-key",
  accountId: row.account_id,
  chainName: row.chain_name,
  app: { appId: row.app_id, appName: row.app_name },
  signer: row.signer_algorithm && row.signer ? { algorithm: row.signer_algorithm, publicKey: row.signer } : undefined,
  key: row.key ? { ...row.key, readAt: new Date(row.key.readAt) } : undefined,
  authTime: row.auth_time ?? undefined,
  expiresAt: row.expires_at,
});

/**
 * Keeps challenges in Postgres. Requests that arrive while a statement runs share the next one. Sign-ins that
 * wait for a lock use the connections of `waiting`.
 */
export function postgresChallengeStore(postgres: Postgres, waiting = postgres): ChallengeStore {
  const begin = sessionBeginner(postgres, waiting);
  const insert = createShardBatcher(
    postgres,
    ({ data }: Challenge) => data,
    async (challenges): Promise<undefined[]> => {
      const rows = JSON.stringify(challenges.map(toColumns));
      await postgres.execute(
        sql`INSERT INTO challenge SELECT * FROM json_populate_recordset(NULL::challenge, ${rows}::json)`,
      );
      return [];
    },
  );
  const find = createShardBatcher(
    postgres,
    (data: string) => data,
    async (data) => {
      const rows = await postgres.query<Row>(sql`
      SELECT data, type, account_id, chain_name, app_id, app_name, signer_algorithm, signer, key, auth_time,
        expires_at
      FROM challenge WHERE data = ANY(${data}) AND attempts < ${MAX_WRONG_ANSWERS}`);
      const found = new Map(rows.map((row) => [row.data, toChallenge(row)]));
      return data.map((each) => found.get(each));
    },
  );

  return {
    insert,
    find,

    async countWrongAnswer(data) {
      const counted = await postgres.execute(sql`
        UPDATE challenge SET attempts = attempts + 1 WHERE data = ${data} AND attempts < ${MAX_WRONG_ANSWERS}`);
      return counted === 1;
    },

    async succeed(challenge, session, requestId, counter) {
      const outcome = await begin({ session, requestId, challenge, counter });
      if (outcome === "blocked") throw new AppError("PleaseRegisterKey");
      if (outcome === "old-counter") {
        throw new AppError("InvalidSignature", { detail: "The passkey's signature counter went back" });
      }
      return outcome === "begun";
    },
  };
}
