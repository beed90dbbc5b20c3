import type { AccessStore } from "../domain/remove-device.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";
import { endSession } from "./prisma-session-store.ts";
import { toSession } from "./rows.ts";

/** Blocks a key of an account until that is lifted. */
async function blockKey(
  tx: Prisma.TransactionClient,
  accountId: string,
  algorithm: string,
  key: string,
): Promise<void> {
  const subject = `${accountId}/${algorithm}/${key}`;
  await tx.$executeRaw`
    INSERT INTO token_state_entry (kind, subject, active, until, txid)
    VALUES ('key', ${subject}, true, NULL, pg_current_xact_id()::text::bigint)
    ON CONFLICT (kind, subject) DO UPDATE SET active = true, until = NULL, txid = EXCLUDED.txid`;
}

/** What is taken away, in Postgres. */
export function prismaAccessStore(prisma: PrismaClient): AccessStore {
  return {
    cutOff: ({ accountId, deviceKey, removedAt, requestId }) =>
      prisma.$transaction(async (tx) => {
        const ofDevice = { accountId, deviceKey: deviceKey.publicKey, deviceKeyAlgorithm: deviceKey.algorithm };
        const sessions = await tx.session.findMany({ where: ofDevice, orderBy: { id: "asc" } });
        const signUps = await tx.signUp.findMany({ where: ofDevice });
        await blockKey(tx, accountId, deviceKey.algorithm, deviceKey.publicKey);
        const accountKeys = new Map([
          ...sessions.map((row) => [row.accountKey, row.accountKeyAlgorithm] as const),
          ...signUps.map((row) => [row.userKey, row.userKeyAlgorithm] as const),
        ]);
        for (const key of [...accountKeys.keys()].sort()) await blockKey(tx, accountId, accountKeys.get(key)!, key);
        for (const row of sessions) {
          const meant = row.endedAt === null && row.createdAt <= removedAt;
          if (meant) await endSession(tx, toSession(row), "device-removed", removedAt, requestId);
        }
        await tx.$executeRaw`SELECT pg_notify('token_state', '')`;
      }),
  };
}
