import type { PublicKey } from "@countersign/keys";
import type { AccessStore } from "../domain/remove-device.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";
import { blockedKeySubject, endSession, lockAccess } from "./prisma-session-store.ts";
import { toSaga, toSession, toTwoFactorSignIn } from "./rows.ts";

/** Blocks a key of an account until that is lifted. */
async function blockKey(tx: Prisma.TransactionClient, accountId: string, key: PublicKey): Promise<void> {
  const subject = blockedKeySubject(accountId, key);
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
        await lockAccess(tx, accountId);
        const ofDevice = { accountId, deviceKey: deviceKey.publicKey, deviceKeyAlgorithm: deviceKey.algorithm };
        const rows = await tx.session.findMany({ where: ofDevice, orderBy: { id: "asc" } });
        // A device that was let in may not have had a session yet.
        const letIn = (await tx.twoFactorSignIn.findMany({ where: ofDevice })).map(toTwoFactorSignIn);
        const sagas = (await tx.signUp.findMany({ where: ofDevice })).map(toSaga);
        const sessions = rows.map((row) => ({ ...toSession(row), live: row.endedAt === null }));
        const keys = [
          deviceKey,
          ...sessions.map((each) => each.accountKey),
          ...[...sagas, ...letIn].map((each) => each.userKey),
        ];
        for (const key of keys) await blockKey(tx, accountId, key);
        for (const session of sessions) {
          const meant = session.live && session.createdAt <= removedAt;
          if (meant) await endSession(tx, session, "device-removed", removedAt, requestId);
        }
        await tx.$executeRaw`SELECT pg_notify('token_state', '')`;
      }),
  };
}
