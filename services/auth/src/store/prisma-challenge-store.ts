import type { PublicKey } from "@countersign/keys";
import type { Challenge, ChallengeStore } from "../domain/ports.ts";
import type { PrismaClient } from "./generated/client.ts";
import { insertSession } from "./prisma-session-store.ts";

const MAX_ATTEMPTS = 5;

interface Row {
  account_id: string;
  chain_name: string;
  app_id: string;
  app_name: string;
  signer_algorithm: PublicKey["algorithm"];
  signer: string;
  auth_time: Date;
  expires_at: Date;
}

const toChallenge = (data: string, row: Row): Challenge => ({
  data,
  type: "device-key",
  accountId: row.account_id,
  chainName: row.chain_name,
  app: { appId: row.app_id, appName: row.app_name },
  signer: { algorithm: row.signer_algorithm, publicKey: row.signer },
  authTime: row.auth_time,
  expiresAt: row.expires_at,
});

/** Challenges in Postgres: the row decides which answer is the first. */
export function prismaChallengeStore(prisma: PrismaClient): ChallengeStore {
  return {
    // Plain SQL where every sign-in passes: Prisma's query compiler costs more than the statement.
    async insert({ data, type, accountId, chainName, app, signer, authTime, expiresAt }) {
      await prisma.$executeRaw`
        INSERT INTO challenge (data, type, account_id, chain_name, app_id, app_name, signer_algorithm, signer, auth_time, expires_at)
        VALUES (${data}, ${type}, ${accountId}::uuid, ${chainName}, ${app.appId}, ${app.appName}, ${signer.algorithm},
          ${signer.publicKey}, ${authTime}, ${expiresAt})`;
    },

    async find(data) {
      const [row] = await prisma.$queryRaw<Row[]>`
        SELECT account_id, chain_name, app_id, app_name, signer_algorithm, signer, auth_time, expires_at FROM challenge
        WHERE data = ${data} AND used_at IS NULL AND attempts < ${MAX_ATTEMPTS}`;
      return row && toChallenge(data, row);
    },

    async attempt(data) {
      const counted = await prisma.$executeRaw`
        UPDATE challenge SET attempts = attempts + 1
        WHERE data = ${data} AND used_at IS NULL AND attempts < ${MAX_ATTEMPTS}`;
      return counted === 1;
    },

    succeed: (data, session, now, requestId) =>
      prisma.$transaction(async (tx) => {
        const used =
          await tx.$executeRaw`UPDATE challenge SET used_at = ${now} WHERE data = ${data} AND used_at IS NULL`;
        if (used === 0) return false;
        await insertSession(tx, session, requestId);
        return true;
      }),
  };
}
