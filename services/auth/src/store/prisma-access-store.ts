import { BLOCK_SENT_MS } from "@countersign/core";
import { type PublicKey, samePublicKey } from "@countersign/keys";
import { queriesIn } from "@countersign/postgres";
import type { AccessStore } from "../domain/access/revoked-access.ts";
import type { Session } from "../domain/sessions/session.ts";
import { ENDED_MS, lockAccess, SKEW_MS } from "./begin-sessions.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";
import { endSessions } from "./postgres-session-store.ts";
import { toKey, toSaga, toSession, toTwoFactorSignIn } from "./rows.ts";
import type { TokenStateChange } from "./write-token-state.ts";

type Tx = Prisma.TransactionClient;

/**
 * Blocks a key of an account for `forMs` from now on, or for good; a longer block stays. Returns the entry
 * that all services are sent: of a block for good for BLOCK_SENT_MS.
 */
async function blockKey(
  tx: Tx,
  accountId: string,
  { algorithm, publicKey }: PublicKey,
  forMs?: number,
): Promise<TokenStateChange> {
  await tx.$executeRaw`
    INSERT INTO blocked_key AS b (account_id, algorithm, public_key, until)
    VALUES (${accountId}::uuid, ${algorithm}, ${publicKey},
      now() + ${forMs ?? null}::bigint * interval '1 millisecond')
    ON CONFLICT (account_id, algorithm, public_key) DO UPDATE SET until = EXCLUDED.until
    WHERE EXCLUDED.until IS NULL OR b.until < EXCLUDED.until`;
  const subject = `${accountId}/${algorithm}/${publicKey}`;
  return { kind: "key", accountId, subject, forMs: forMs ?? BLOCK_SENT_MS };
}

/**
 * Blocks keys of a removed device for good and ends the live sessions that use one. Under the account's lock,
 * so that none begins meanwhile: services forget the block, and a session would outlive it.
 */
export async function blockKeys(
  tx: Tx,
  accountId: string,
  keys: readonly PublicKey[],
  { at: now, requestId }: { at: Date; requestId: string },
): Promise<void> {
  const blocked: TokenStateChange[] = [];
  for (const key of keys) blocked.push(await blockKey(tx, accountId, key));
  const sessions = await liveSessions(tx, { accountId });
  const ending = sessions.filter(({ deviceKey, accountKey }) =>
    keys.some((key) => samePublicKey(key, deviceKey) || samePublicKey(key, accountKey)),
  );
  const ends = ending.map((session) => ({ session, cause: "device-removed" as const, now, requestId }));
  await endSessions(queriesIn(tx), ends, blocked);
}

/**
 * Ends all sessions of an account; with `leaves` the account begins none after that. Returns how many it
 * ended. The last statement of its transaction that locks.
 */
export async function endAllSessions(
  tx: Tx,
  accountId: string,
  end: { cause: "administrator" | "account-left"; now: Date; requestId: string; leaves: boolean },
): Promise<number> {
  const { leaves, ...rest } = end;
  await lockAccess(queriesIn(tx), accountId);
  if (leaves) await tx.leftAccount.createMany({ data: [{ accountId, leftAt: end.now }], skipDuplicates: true });
  const sessions = await liveSessions(tx, { accountId });
  const ends = sessions.map((session) => ({ session, ...rest }));
  // Like a freeze, until the account's last token has expired: it gets no new ones.
  const left = { kind: "account", accountId, subject: accountId, forMs: BLOCK_SENT_MS } as const;
  return endSessions(queriesIn(tx), ends, leaves ? [left] : []);
}

/** Returns live sessions in the order in which transactions lock them. */
const liveSessions = async (tx: Tx, where: Prisma.SessionWhereInput): Promise<Session[]> =>
  (await tx.session.findMany({ where: { ...where, endedAt: null }, orderBy: { id: "asc" } })).map(toSession);

/** Takes access away, in Postgres: ended sessions, revoked keys, accounts that leave. */
export function prismaAccessStore(prisma: PrismaClient): AccessStore {
  return {
    endRevoked: ({ accountId, accountKey, revokedAt, requestId }) =>
      prisma.$transaction(async (tx) => {
        await lockAccess(queriesIn(tx), accountId);
        const ofKey = { accountId, accountKey: accountKey.publicKey, accountKeyAlgorithm: accountKey.algorithm };
        // For as long as a sign-in that is under way, or its token, may last: from now on, since the event
        // may come late, and sessions were refreshed meanwhile.
        const blocked = await blockKey(tx, accountId, accountKey, ENDED_MS);
        // A session is dated when its key was read, by auth's clock, a revocation by key's.
        const readBefore = new Date(revokedAt.getTime() + SKEW_MS);
        const sessions = await liveSessions(tx, { ...ofKey, createdAt: { lte: readBefore } });
        const ends = sessions.map((session) => {
          const now = session.createdAt > revokedAt ? session.createdAt : revokedAt;
          return { session, cause: "key-revoked" as const, now, requestId };
        });
        await endSessions(queriesIn(tx), ends, [blocked]);
      }),

    leave: ({ accountId, leftAt, requestId }) =>
      prisma.$transaction(async (tx) => {
        await endAllSessions(tx, accountId, { cause: "account-left", now: leftAt, requestId, leaves: true });
      }),

    cutOff: ({ accountId, deviceKey, removedAt, requestId }) =>
      prisma.$transaction(async (tx) => {
        await lockAccess(queriesIn(tx), accountId);
        const ofDevice = { accountId, deviceKey: deviceKey.publicKey, deviceKeyAlgorithm: deviceKey.algorithm };
        // Its account keys, not its sessions: each sign-in leaves one for a week.
        const by = ["accountKeyAlgorithm", "accountKey"] as const;
        const sessions = await tx.session.groupBy({ by: [...by], where: ofDevice });
        // After the sessions: deleting one writes this row in the same commit.
        const former = await tx.formerSession.findMany({ where: ofDevice });
        // An approved device may have had no session yet. Other requests name any keys, as many as somebody
        // sends: blocked keys are kept for good, and the signer compares signatures with each.
        const onChain = { ...ofDevice, transactionId: { not: null } };
        const added = (await tx.twoFactorSignIn.findMany({ where: onChain })).map(toTwoFactorSignIn);
        const sagas = (await tx.signUp.findMany({ where: ofDevice })).map(toSaga);
        const keys = [
          deviceKey,
          ...[...sagas, ...added].map((each) => each.accountKey),
          ...[...sessions, ...former].map((each) => toKey(each.accountKeyAlgorithm, each.accountKey)),
        ];
        await blockKeys(tx, accountId, keys, { at: removedAt, requestId });
      }),
  };
}
