import { claimRows, deleteInBatches, deletionOf, queriesIn, sql, withAccountLock } from "@countersign/postgres";
import type { AccountRequests, EventContext, TwoFactorStore } from "../domain/two-factor/ports.ts";
import type { TwoFactor } from "../domain/two-factor/two-factor.ts";
import type { Step } from "../domain/two-factor/two-factor-state.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";
import { changesOf, toRow, toTwoFactor, twoFactorEventRow, whereOf } from "./two-factor-rows.ts";

function accountRequests(tx: Prisma.TransactionClient, accountId: string): AccountRequests {
  return {
    has: async (id) => (await tx.twoFactor.count({ where: { id, accountId } })) > 0,
    async pendingUntil(now) {
      // An overdue request with an approval under way is pending still.
      const isPending = [{ expiresAt: { gt: now } }, { attemptId: { not: null } }];
      const rows = await tx.twoFactor.findMany({
        where: { accountId, status: "pending", OR: isPending },
        select: { expiresAt: true },
        orderBy: { expiresAt: "asc" },
      });
      return rows.map(({ expiresAt }) => expiresAt);
    },
    async claimsOf({ accountKey, deviceKey }) {
      const ofThese = { in: [accountKey.publicKey, deviceKey.publicKey] };
      const OR = [{ accountKey: ofThese }, { deviceKey: ofThese }];
      const status = { in: ["pending", "approved", "finished"] };
      return (await tx.twoFactor.findMany({ where: { accountId, status, OR } })).map((row) => toTwoFactor(row).userKey);
    },
    countRejectedAfter: (time) =>
      tx.twoFactor.count({ where: { accountId, rejectedAt: { gt: time }, rejectedInRecovery: false } }),
    async reopenedAt() {
      const row = await tx.twoFactorReopening.findUnique({ where: { accountId } });
      return row?.reopenedAt ?? null;
    },
    async reopen(reopenedAt) {
      const values = { accountId, reopenedAt };
      await tx.twoFactorReopening.upsert({ where: { accountId }, create: values, update: { reopenedAt } });
    },
    async insert(request, context) {
      // ON CONFLICT DO NOTHING: an error would end the transaction.
      const { count } = await tx.twoFactor.createMany({ data: [toRow(request)], skipDuplicates: true });
      if (count === 0) return false;
      await insertMessage(tx, request, request.requestedAt);
      await tx.outbox.create({ data: twoFactorEventRow(request, request.status, context) });
      return true;
    },
  };
}

/** Keeps the request's current message. */
async function insertMessage(
  tx: Prisma.TransactionClient,
  { id: twoFactorId, accountId, messageId, message }: Pick<TwoFactor, "id" | "accountId" | "messageId" | "message">,
  createdAt: Date,
): Promise<void> {
  const data = { messageId, twoFactorId, accountId, message: Uint8Array.from(message), createdAt };
  await tx.twoFactorMessage.create({ data });
}

/** Takes a step where its guard holds, with its event. */
export async function takeStep(
  tx: Prisma.TransactionClient,
  id: string,
  { when, set, emit }: Step,
  context: EventContext,
): Promise<TwoFactor | undefined> {
  const data = changesOf(set);
  const [row] = await tx.twoFactor.updateManyAndReturn({ where: { id, ...whereOf(when) }, data });
  if (!row) return undefined;
  if (set.messageId !== undefined) await insertMessage(tx, row, context.occurredAt);
  if (emit !== undefined) await tx.outbox.create({ data: twoFactorEventRow(row, emit, context) });
  return toTwoFactor(row);
}

/**
 * Requests for approval in Postgres: each step is one conditional UPDATE, so that the row decides which of
 * several is first.
 */
export function prismaTwoFactorStore(prisma: PrismaClient): TwoFactorStore {
  return {
    withAccount: (accountId, work) => withAccountLock(prisma, accountId, (tx) => work(accountRequests(tx, accountId))),

    async find(accountId, id) {
      const message = await prisma.twoFactorMessage.findUnique({ where: { messageId: id } });
      const row = await prisma.twoFactor.findUnique({ where: { id: message?.twoFactorId ?? id, accountId } });
      return row ? toTwoFactor(row) : undefined;
    },

    async list(accountId, { status, limit }) {
      const where = { accountId, ...(status === undefined ? {} : { status }) };
      const orderBy = [{ requestedAt: "desc" }, { id: "desc" }] as const;
      const rows = await prisma.twoFactor.findMany({ where, orderBy: [...orderBy], take: limit });
      return rows.map(toTwoFactor);
    },

    firstMessage: async (id) => {
      const first = await prisma.twoFactorMessage.findFirstOrThrow({
        where: { twoFactorId: id },
        orderBy: { createdAt: "asc" },
        select: { message: true },
      });
      return first.message;
    },

    earlierMessages: ({ id, messageId }, limit) =>
      prisma.twoFactorMessage.findMany({
        where: { twoFactorId: id, messageId: { not: messageId } },
        orderBy: { createdAt: "desc" },
        select: { messageId: true, message: true },
        take: limit,
      }),

    take: (id, step, context) => prisma.$transaction((tx) => takeStep(tx, id, step, context)),

    async countWrongApproval(id, limit) {
      const { count } = await prisma.twoFactor.updateMany({
        where: { id, wrongApprovals: { lt: limit } },
        data: { wrongApprovals: { increment: 1 } },
      });
      return count === 1;
    },

    async due(now, limit) {
      const rows = await prisma.twoFactor.findMany({
        where: { status: "pending", attemptId: null, expiresAt: { lte: now } },
        orderBy: { expiresAt: "asc" },
        take: limit,
      });
      return rows.map(toTwoFactor);
    },

    leaseUnconfirmed(now, until, limit) {
      const due = { reconcileAt: { lte: now } };
      return claimRows(
        limit,
        (take) => prisma.twoFactor.findMany({ where: due, orderBy: { reconcileAt: "asc" }, take }),
        async ({ id, accountId }) => {
          const where = { id, accountId, ...due };
          const [row] = await prisma.twoFactor.updateManyAndReturn({ where, data: { reconcileAt: until } });
          return row && toTwoFactor(row);
        },
      );
    },

    forget: (endedBefore) =>
      deleteInBatches([
        deletionOf(
          queriesIn(prisma),
          "two_factor",
          sql`status <> 'pending' AND reconcile_at IS NULL AND expires_at < ${endedBefore} ORDER BY expires_at`,
        ),
      ]),
  };
}
