import { BLOCK_SENT_MS } from "@countersign/core";
import { type PublicKey, samePublicKey } from "@countersign/keys";
import { queriesIn } from "@countersign/postgres";
import type { AccessStore } from "../domain/access/remove-device.ts";
import type { LeaveStore, RevokedKeyStore } from "../domain/access/revoked-access.ts";
import { ACCESS_TOKEN_MS } from "../domain/sessions/session.ts";
import { lockAccess } from "./begin-sessions.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";
import { endSession } from "./postgres-session-store.ts";
import { toKey, toSaga, toSession, toTwoFactorSignIn } from "./rows.ts";

type Tx = Prisma.TransactionClient;

/**
 * Blocks a key of an account until a time, or for good; a longer block stays. All services are sent a block
 * for good for BLOCK_SENT_MS, from the real time: `until` may be of an event that came late.
 */
async function blockKey(tx: Tx, accountId: string, { algorithm, publicKey }: PublicKey, until: Date | undefined) {
  await tx.$executeRaw`
    INSERT INTO blocked_key AS b (account_id, algorithm, public_key, until)
    VALUES (${accountId}::uuid, ${algorithm}, ${publicKey}, ${until ?? null})
    ON CONFLICT (account_id, algorithm, public_key) DO UPDATE SET until = EXCLUDED.until
    WHERE EXCLUDED.until IS NULL OR b.until < EXCLUDED.until`;
  await tx.$executeRaw`
    INSERT INTO token_state_entry AS t (kind, subject, active, until, txid)
    VALUES ('key', ${`${accountId}/${algorithm}/${publicKey}`}, true,
      COALESCE(${until ?? null}::timestamptz, now() + ${BLOCK_SENT_MS} * interval '1 millisecond'),
      pg_current_xact_id()::text::bigint)
    ON CONFLICT (kind, subject) DO UPDATE
    SET active = true, until = GREATEST(t.until, EXCLUDED.until), txid = EXCLUDED.txid`;
}

/**
 * Blocks keys of a removed device for good and ends the live sessions that use one. Under the account's lock,
 * so that none begins meanwhile: services forget the block, and a session would outlive it.
 */
export async function blockKeys(
  tx: Tx,
  accountId: string,
  keys: readonly PublicKey[],
  { at, requestId }: { at: Date; requestId: string },
): Promise<void> {
  for (const key of keys) await blockKey(tx, accountId, key, undefined);
  for (const row of await tx.session.findMany({ where: { accountId, endedAt: null }, orderBy: { id: "asc" } })) {
    const session = toSession(row);
    const { deviceKey, accountKey } = session;
    const isBlocked = keys.some((key) => samePublicKey(key, deviceKey) || samePublicKey(key, accountKey));
    if (isBlocked) await endSession(queriesIn(tx), session, "device-removed", at, requestId);
  }
}

/** Clocks of other services may be behind ours. */
const SKEW_MS = 60_000;

/** Takes access away, in Postgres: ended sessions, revoked keys, accounts that leave. */
export function prismaAccessStore(prisma: PrismaClient): AccessStore & RevokedKeyStore & LeaveStore {
  return {
    endRevoked: ({ accountId, accountKey, revokedAt, requestId }) =>
      prisma.$transaction(async (tx) => {
        await lockAccess(queriesIn(tx), accountId);
        const ofKey = { accountId, accountKey: accountKey.publicKey, accountKeyAlgorithm: accountKey.algorithm };
        // For as long as a sign-in that is under way, or its token, may last.
        const until = new Date(revokedAt.getTime() + ACCESS_TOKEN_MS + SKEW_MS);
        await blockKey(tx, accountId, accountKey, until);
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
        const sessions = (await tx.session.findMany({ where: ofDevice })).map(toSession);
        // After the sessions: deleting one writes this row in the same commit.
        const former = await tx.formerSession.findMany({ where: ofDevice });
        // An approved device may have had no session yet. Other requests name any keys, as many as somebody
        // sends: blocked keys are kept for good, and the signer compares signatures with each.
        const onChain = { ...ofDevice, transactionId: { not: null } };
        const added = (await tx.twoFactorSignIn.findMany({ where: onChain })).map(toTwoFactorSignIn);
        const sagas = (await tx.signUp.findMany({ where: ofDevice })).map(toSaga);
        const keys = [
          deviceKey,
          ...[...sessions, ...sagas, ...added].map((each) => each.accountKey),
          ...former.map((each) => toKey(each.accountKeyAlgorithm, each.accountKey)),
        ];
        await blockKeys(tx, accountId, keys, { at: removedAt, requestId });
      }),
  };
}
