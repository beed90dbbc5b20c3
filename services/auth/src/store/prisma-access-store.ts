import type { PublicKey } from "@countersign/keys";
import { queriesIn } from "@countersign/postgres";
import type { AccessStore } from "../domain/access/remove-device.ts";
import type { LeaveStore, RevokedKeyStore } from "../domain/access/revoked-access.ts";
import { ACCESS_TOKEN_MS } from "../domain/sessions/session.ts";
import { blockedKeySubject, lockAccess } from "./begin-sessions.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";
import { endSession } from "./postgres-session-store.ts";
import { key, toSaga, toSession, toTwoFactorSignIn } from "./rows.ts";

/** Blocks a key of an account until that is lifted. */
export async function blockKey(tx: Prisma.TransactionClient, accountId: string, key: PublicKey): Promise<void> {
  const subject = blockedKeySubject(accountId, key);
  await tx.$executeRaw`
    INSERT INTO token_state_entry (kind, subject, active, until, txid)
    VALUES ('key', ${subject}, true, NULL, pg_current_xact_id()::text::bigint)
    ON CONFLICT (kind, subject) DO UPDATE SET active = true, until = NULL, txid = EXCLUDED.txid`;
}

/** Clocks of other services may be behind ours. */
const SKEW_MS = 60_000;

/**
 * Blocks a key for as long as a sign-in that is under way, or its token, may last; a block for good stays
 * one.
 */
async function blockKeyForAWhile(tx: Prisma.TransactionClient, accountId: string, key: PublicKey, from: Date) {
  const until = new Date(from.getTime() + ACCESS_TOKEN_MS + SKEW_MS);
  await tx.$executeRaw`
    INSERT INTO token_state_entry AS t (kind, subject, active, until, txid)
    VALUES ('key', ${blockedKeySubject(accountId, key)}, true, ${until}, pg_current_xact_id()::text::bigint)
    ON CONFLICT (kind, subject) DO UPDATE SET active = true, until = EXCLUDED.until, txid = EXCLUDED.txid
    WHERE NOT t.active OR t.until < EXCLUDED.until`;
}

/** Takes access away, in Postgres: ended sessions, revoked keys, accounts that leave. */
export function prismaAccessStore(prisma: PrismaClient): AccessStore & RevokedKeyStore & LeaveStore {
  return {
    endRevoked: ({ accountId, accountKey, revokedAt, requestId }) =>
      prisma.$transaction(async (tx) => {
        await lockAccess(queriesIn(tx), accountId);
        const ofKey = { accountId, accountKey: accountKey.publicKey, accountKeyAlgorithm: accountKey.algorithm };
        await blockKeyForAWhile(tx, accountId, accountKey, revokedAt);
        const where = { ...ofKey, endedAt: null, createdAt: { lte: revokedAt } };
        for (const row of await tx.session.findMany({ where, orderBy: { id: "asc" } })) {
          await endSession(queriesIn(tx), toSession(row), "key-revoked", revokedAt, requestId);
        }
      }),

    leave: ({ accountId, leftAt, requestId }) =>
      prisma.$transaction(async (tx) => {
        await lockAccess(queriesIn(tx), accountId);
        await tx.leftAccount.createMany({ data: [{ accountId, leftAt }], skipDuplicates: true });
        // Like a freeze that is never lifted: the signer refuses everything once it has received it.
        await tx.$executeRaw`
          INSERT INTO token_state_entry (kind, subject, active, until, txid)
          VALUES ('account', ${accountId}, true, NULL, pg_current_xact_id()::text::bigint)
          ON CONFLICT (kind, subject) DO UPDATE SET active = true, until = NULL, txid = EXCLUDED.txid`;
        const rows = await tx.session.findMany({ where: { accountId, endedAt: null }, orderBy: { id: "asc" } });
        for (const row of rows) await endSession(queriesIn(tx), toSession(row), "account-left", leftAt, requestId);
      }),

    hasLeft: async (accountId) => (await prisma.leftAccount.findUnique({ where: { accountId } })) !== null,

    cutOff: ({ accountId, deviceKey, removedAt, requestId }) =>
      prisma.$transaction(async (tx) => {
        await lockAccess(queriesIn(tx), accountId);
        const ofDevice = { accountId, deviceKey: deviceKey.publicKey, deviceKeyAlgorithm: deviceKey.algorithm };
        const rows = await tx.session.findMany({ where: ofDevice, orderBy: { id: "asc" } });
        // After the sessions: deleting one writes this row in the same commit.
        const former = await tx.formerSession.findMany({ where: ofDevice });
        // An approved device may have had no session yet. Other requests name any keys, as many as somebody
        // sends: blocked keys are kept for good, in every service, and the signer compares signatures with
        // each.
        const onChain = { ...ofDevice, transactionId: { not: null } };
        const added = (await tx.twoFactorSignIn.findMany({ where: onChain })).map(toTwoFactorSignIn);
        const sagas = (await tx.signUp.findMany({ where: ofDevice })).map(toSaga);
        const sessions = rows.map((row) => ({ ...toSession(row), live: row.endedAt === null }));
        const keys = [
          deviceKey,
          ...sessions.map((each) => each.accountKey),
          ...former.map((each) => key(each.accountKeyAlgorithm, each.accountKey)),
          ...[...sagas, ...added].map((each) => each.accountKey),
        ];
        for (const each of keys) await blockKey(tx, accountId, each);
        for (const session of sessions) {
          const meant = session.live && session.createdAt <= removedAt;
          if (meant) await endSession(queriesIn(tx), session, "device-removed", removedAt, requestId);
        }
      }),
  };
}
