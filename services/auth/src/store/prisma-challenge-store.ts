import type { PublicKey } from "@countersign/keys";
import type { ChallengeStore } from "../domain/ports.ts";
import type { PrismaClient } from "./generated/client.ts";
import { insertSession } from "./prisma-session-store.ts";

const MAX_ATTEMPTS = 5;

/** Challenges in Postgres: the row decides which answer is the first. */
export function prismaChallengeStore(prisma: PrismaClient): ChallengeStore {
  return {
    async insert({ app, signer, ...challenge }) {
      const signerColumns = { signerAlgorithm: signer.algorithm, signer: signer.publicKey };
      await prisma.challenge.create({ data: { ...challenge, ...app, ...signerColumns } });
    },

    async find(data) {
      const row = await prisma.challenge.findUnique({ where: { data, usedAt: null, attempts: { lt: MAX_ATTEMPTS } } });
      if (!row) return undefined;
      const { accountId, chainName, appId, appName, authTime, expiresAt } = row;
      const signer = { algorithm: row.signerAlgorithm as PublicKey["algorithm"], publicKey: row.signer };
      return { data, type: "device-key", accountId, chainName, app: { appId, appName }, signer, authTime, expiresAt };
    },

    async attempt(data) {
      const { count } = await prisma.challenge.updateMany({
        where: { data, usedAt: null, attempts: { lt: MAX_ATTEMPTS } },
        data: { attempts: { increment: 1 } },
      });
      return count === 1;
    },

    succeed: (data, session, now, requestId) =>
      prisma.$transaction(async (tx) => {
        const { count } = await tx.challenge.updateMany({ where: { data, usedAt: null }, data: { usedAt: now } });
        if (count === 0) return false;
        await insertSession(tx, session, requestId);
        return true;
      }),
  };
}
