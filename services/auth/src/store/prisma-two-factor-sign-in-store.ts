import { AppError } from "@countersign/errors";
import type { TwoFactorSignIn, TwoFactorSignInStore } from "../domain/two-factor-sign-in.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";
import { findClaim, insertClaim, lockIdempotency } from "./idempotency.ts";
import { blockedKeySubject, insertSession } from "./prisma-session-store.ts";
import { toTwoFactorSignIn, toTwoFactorSignInRow } from "./rows.ts";

type Tx = Prisma.TransactionClient;

async function insert(tx: Tx, signIn: TwoFactorSignIn): Promise<void> {
  await tx.twoFactorSignIn.create({ data: toTwoFactorSignInRow(signIn) });
}

/** New devices that ask to be let in, in Postgres. */
export function prismaTwoFactorSignInStore(prisma: PrismaClient): TwoFactorSignInStore {
  const replayOf = async (
    tx: Pick<Tx, "idempotencyClaim" | "twoFactorSignIn">,
    idempotency: { id: string; fingerprint: string },
  ) => {
    const claim = await findClaim(tx, idempotency);
    if (claim === undefined) return undefined;
    const row =
      claim === "reused" || claim.resultId === null
        ? null
        : await tx.twoFactorSignIn.findUnique({ where: { id: claim.resultId } });
    // A claim without its row is of a request that was forgotten: never the same request again.
    if (!row) return { kind: "idempotency-key-reused" as const };
    return { kind: "replay" as const, signIn: toTwoFactorSignIn(row) };
  };

  return {
    replayOf: (idempotency) => replayOf(prisma, idempotency),

    begin: (signIn, idempotency) =>
      prisma.$transaction(async (tx) => {
        if (idempotency) {
          await lockIdempotency(tx, idempotency);
          const before = await replayOf(tx, idempotency);
          if (before) return before;
          const { accountId, id: resultId, createdAt: now } = signIn;
          await insertClaim(tx, idempotency, { accountId, resultId, now });
        }
        await insert(tx, signIn);
        return { kind: "begun" as const, signIn };
      }),

    async find(accountId, id) {
      const row = await prisma.twoFactorSignIn.findUnique({ where: { id, accountId } });
      return row ? toTwoFactorSignIn(row) : undefined;
    },

    async mayAdmit(accountId, keys) {
      if (await prisma.frozenAccount.findUnique({ where: { accountId } })) return "frozen";
      const subject = { in: keys.map((key) => blockedKeySubject(accountId, key)) };
      const blocked = await prisma.tokenStateEntry.findFirst({ where: { kind: "key", subject, active: true } });
      return blocked ? "blocked" : "yes";
    },

    async markAdmitted(id, transaction, admittedAt) {
      await prisma.twoFactorSignIn.updateMany({
        where: { id, admittedAt: null },
        data: { admittedAt, transactionId: transaction.id, transactionRefUrl: transaction.refUrl },
      });
    },

    finish: (id, session, now, requestId) =>
      prisma.$transaction(async (tx) => {
        const { accountId } = session;
        const { count } = await tx.twoFactorSignIn.updateMany({
          where: { id, accountId, finishedAt: null },
          data: { finishedAt: now },
        });
        if (count === 0) return false;
        await insertSession(tx, session, requestId);
        // Under the lock that insertSession takes, as freezing does: one of the two comes first.
        if (await tx.frozenAccount.findUnique({ where: { accountId } })) throw new AppError("AccountFrozen");
        return true;
      }),

    async additionOf(accountId, chainName, { algorithm, publicKey }) {
      const row = await prisma.twoFactorSignIn.findFirst({
        where: { accountId, chainName, userKey: publicKey, userKeyAlgorithm: algorithm, admittedAt: { not: null } },
        orderBy: { admittedAt: "desc" },
      });
      if (!row?.transactionId) return undefined;
      return { id: row.transactionId, chainName, refUrl: row.transactionRefUrl ?? "" };
    },
  };
}
