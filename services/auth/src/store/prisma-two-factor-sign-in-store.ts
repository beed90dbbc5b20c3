import { AppError } from "@countersign/core";
import { queriesIn, sqlFile } from "@countersign/postgres";
import type { TwoFactorSignInStore } from "../domain/two-factor/two-factor-sign-in.ts";
import { beginSessionIn, lockAccess, SKEW_MS } from "./begin-sessions.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";
import { findIdempotencyKey, insertIdempotencyKey } from "./idempotency.ts";
import { blockKeys } from "./prisma-access-store.ts";
import { hasLeft, isFrozen } from "./prisma-freeze-store.ts";
import { toKey, toTwoFactorSignIn, toTwoFactorSignInRow } from "./rows.ts";
import { writeTokenState } from "./write-token-state.ts";

type Tx = Prisma.TransactionClient;
type KeyRow = Record<"accountKeyAlgorithm" | "accountKey" | "deviceKeyAlgorithm" | "deviceKey", string>;

const findDevicesWith = sqlFile(new URL("../../sql/find-devices-with.sql", import.meta.url));

/**
 * Ends an ephemeral token, whose session id is its request: every operation except finishing refuses it then.
 */
async function endToken(tx: Tx, accountId: string, id: string): Promise<void> {
  const row = await tx.twoFactorSignIn.findUnique({ where: { id, accountId } });
  if (!row) return;
  const until = new Date(row.expiresAt.getTime() + SKEW_MS);
  await writeTokenState(queriesIn(tx), [{ kind: "session", accountId, subject: id, until }]);
}

/** Keeps sign-ins of new devices, in Postgres. */
export function prismaTwoFactorSignInStore(prisma: PrismaClient): TwoFactorSignInStore {
  const replayOf = async (tx: Tx, idempotency: { id: string; fingerprint: string }) => {
    const earlier = await findIdempotencyKey(queriesIn(tx), idempotency);
    if (earlier === undefined) return undefined;
    const { sameBody, resultId } = earlier;
    const row = sameBody && resultId !== null && (await tx.twoFactorSignIn.findUnique({ where: { id: resultId } }));
    // A key whose request was deleted since: never the same request again.
    if (!row) return { kind: "idempotency-key-reused" as const };
    return { kind: "replay" as const, signIn: toTwoFactorSignIn(row) };
  };

  return {
    replayOf: (idempotency) => replayOf(prisma, idempotency),

    begin: (signIn, idempotency) =>
      prisma.$transaction(async (tx) => {
        const { accountId, id: resultId, createdAt: now } = signIn;
        const use = { accountId, resultId, now };
        const isRepeated = idempotency && !(await insertIdempotencyKey(queriesIn(tx), idempotency, use));
        if (isRepeated) return (await replayOf(tx, idempotency)) ?? { kind: "idempotency-key-reused" as const };
        // Under the lock: an erasure in between would leave this row behind.
        await lockAccess(queriesIn(tx), accountId);
        if (await hasLeft(tx, accountId)) throw new AppError("AccountLeft");
        await tx.twoFactorSignIn.create({ data: toTwoFactorSignInRow(signIn) });
        return { kind: "begun" as const, signIn };
      }),

    async find(accountId, id) {
      const row = await prisma.twoFactorSignIn.findUnique({ where: { id, accountId } });
      return row ? toTwoFactorSignIn(row) : undefined;
    },

    async mayEnroll(accountId, keys) {
      if (await isFrozen(prisma, accountId)) return "frozen";
      const blocked = await prisma.blockedKey.findFirst({ where: { accountId, OR: [...keys] } });
      return blocked || (await hasLeft(prisma, accountId)) ? "blocked" : "yes";
    },

    async devicesWith(accountId, { accountKey, deviceKey }, exceptId) {
      const keys = { accountKey: accountKey.publicKey, deviceKey: deviceKey.publicKey };
      const rows = await queriesIn(prisma).query<KeyRow>(
        findDevicesWith({ accountId, ...keys, exceptId: exceptId ?? null }),
      );
      return rows.map((row) => ({
        accountKey: toKey(row.accountKeyAlgorithm, row.accountKey),
        deviceKey: toKey(row.deviceKeyAlgorithm, row.deviceKey),
      }));
    },

    async isRecovering(accountId, now) {
      const live = { endedAt: null, expiresAt: { gt: now }, refreshExpiresAt: { gt: now } };
      return (await prisma.session.findFirst({ where: { accountId, scope: "recover", ...live } })) !== null;
    },

    recordAddition: ({ id, accountId, accountKey, deviceKey }, { id: transactionId, refUrl }, context) =>
      prisma.$transaction(async (tx) => {
        await lockAccess(queriesIn(tx), accountId);
        const data = { transactionId, transactionRefUrl: refUrl };
        await tx.twoFactorSignIn.updateMany({ where: { id, transactionId: null }, data });
        const isRemoved = await tx.blockedKey.findFirst({ where: { accountId, ...deviceKey, until: null } });
        if (isRemoved) await blockKeys(tx, accountId, [accountKey], context);
      }),

    async markEnrolled(id, transaction, enrolledAt) {
      await prisma.twoFactorSignIn.updateMany({
        where: { id, enrolledAt: null },
        data: { enrolledAt, transactionId: transaction.id, transactionRefUrl: transaction.refUrl },
      });
    },

    endToken: (accountId, id) => prisma.$transaction((tx) => endToken(tx, accountId, id)),

    finish: (id, session, now, requestId) =>
      prisma.$transaction(async (tx) => {
        const { accountId } = session;
        // First, as everywhere: an erasure that had the lock would wait for the request's row.
        await lockAccess(queriesIn(tx), accountId);
        const { count } = await tx.twoFactorSignIn.updateMany({
          where: { id, accountId, finishedAt: null },
          data: { finishedAt: now },
        });
        if (count === 0) return false;
        await beginSessionIn(queriesIn(tx), session, requestId);
        await endToken(tx, accountId, id);
        // Under the lock, as freezing does: one of the two comes first.
        if (await isFrozen(tx, accountId)) throw new AppError("AccountFrozen");
        return true;
      }),

    // Plain SQL: every sign-in passes here.
    async additionOf(accountId, chainName, { algorithm, publicKey }) {
      const [row] = await prisma.$queryRaw<{ id: string; ref_url: string | null }[]>`
        SELECT transaction_id AS id, transaction_ref_url AS ref_url FROM two_factor_sign_in
        WHERE account_id = ${accountId}::uuid AND chain_name = ${chainName} AND account_key = ${publicKey}
          AND account_key_algorithm = ${algorithm} AND transaction_id IS NOT NULL
        ORDER BY enrolled_at DESC LIMIT 1`;
      return row && { id: row.id, chainName, refUrl: row.ref_url ?? "" };
    },
  };
}
