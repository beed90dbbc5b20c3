import type { AccountRequests, TwoFactorStore } from "../domain/two-factor/ports.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";
import { changesOf, toRow, toTwoFactor, twoFactorEventRow, whereOf } from "./two-factor-rows.ts";

function accountRequests(tx: Prisma.TransactionClient, accountId: string): AccountRequests {
  return {
    has: async (id) => (await tx.twoFactor.count({ where: { id, accountId } })) > 0,
    async pendingUntil(now) {
      // An overdue one with an approval under way waits still.
      const waits = [{ expiresAt: { gt: now } }, { attemptId: { not: null } }];
      const rows = await tx.twoFactor.findMany({
        where: { accountId, status: "pending", OR: waits },
        select: { expiresAt: true },
        orderBy: { expiresAt: "asc" },
      });
      return rows.map(({ expiresAt }) => expiresAt);
    },
    countRejectedAfter: (time) =>
      tx.twoFactor.count({ where: { accountId, rejectedAt: { gt: time }, rejectedInRecovery: false } }),
    async reopenedAt() {
      const row = await tx.twoFactorReopening.findUnique({ where: { accountId } });
      return row?.reopenedAt ?? null;
    },
    async reopen(reopenedAt) {
      const values = { accountId, reopenedAt };
      await tx.twoFactorReopening.upsert({ where: { accountId }, create: values, update: values });
    },
    async insert(request, context) {
      // ON CONFLICT DO NOTHING: an error would end the transaction.
      const { count } = await tx.twoFactor.createMany({ data: [toRow(request)], skipDuplicates: true });
      if (count === 0) return false;
      const { id, requestId, message, requestedAt } = request;
      await insertMessage(tx, id, requestId, message, requestedAt);
      await tx.outbox.create({ data: twoFactorEventRow(request, request.status, context) });
      return true;
    },
  };
}

async function insertMessage(
  tx: Prisma.TransactionClient,
  twoFactorId: string,
  requestId: string,
  message: Uint8Array,
  createdAt: Date,
): Promise<void> {
  const data = { requestId, twoFactorId, message: Uint8Array.from(message), createdAt };
  await tx.twoFactorRequestId.create({ data });
}

/** Requests for approval in Postgres: each step is one conditional UPDATE, and the row decides who was first. */
export function prismaTwoFactorStore(prisma: PrismaClient): TwoFactorStore {
  return {
    withAccount: (accountId, work) =>
      prisma.$transaction(
        async (tx) => {
          // One lock per account makes limits hold in all replicas.
          await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${accountId}, 0))`;
          return work(accountRequests(tx, accountId));
        },
        { maxWait: 5_000, timeout: 5_000 },
      ),

    async find(accountId, id) {
      const named = [{ id }, { requestIds: { some: { requestId: id } } }];
      const row = await prisma.twoFactor.findFirst({ where: { accountId, OR: named } });
      return row ? toTwoFactor(row) : undefined;
    },

    async list(accountId, { status, limit }) {
      const where = { accountId, ...(status === undefined ? {} : { status }) };
      const orderBy = [{ requestedAt: "desc" }, { id: "desc" }] as const;
      const rows = await prisma.twoFactor.findMany({ where, orderBy: [...orderBy], take: limit });
      return rows.map(toTwoFactor);
    },

    firstMessage: async (id) => {
      const first = await prisma.twoFactorRequestId.findFirstOrThrow({
        where: { twoFactorId: id },
        orderBy: { createdAt: "asc" },
        select: { message: true },
      });
      return first.message;
    },

    earlierMessages: ({ id, requestId }, limit) =>
      prisma.twoFactorRequestId.findMany({
        where: { twoFactorId: id, requestId: { not: requestId } },
        orderBy: { createdAt: "desc" },
        select: { requestId: true, message: true },
        take: limit,
      }),

    take: (id, { when, set, tell }, context) =>
      prisma.$transaction(async (tx) => {
        const data = changesOf(set);
        const [row] = await tx.twoFactor.updateManyAndReturn({ where: { id, ...whereOf(when) }, data });
        if (!row) return undefined;
        if (set.requestId !== undefined) await insertMessage(tx, id, row.requestId, row.message, context.occurredAt);
        if (tell !== undefined) await tx.outbox.create({ data: twoFactorEventRow(row, tell, context) });
        return toTwoFactor(row);
      }),

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

    async leaseUnsettled(now, until, limit) {
      const leased = await prisma.$queryRaw<{ id: string }[]>`
        UPDATE two_factor SET settle_at = ${until} WHERE id IN (
          SELECT id FROM two_factor WHERE settle_at <= ${now} ORDER BY settle_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
        ) RETURNING id::text`;
      const rows = await prisma.twoFactor.findMany({ where: { id: { in: leased.map(({ id }) => id) } } });
      return rows.map(toTwoFactor);
    },

    async forget(endedBefore) {
      await prisma.twoFactor.deleteMany({
        where: { expiresAt: { lt: endedBefore }, status: { not: "pending" }, settleAt: null },
      });
    },
  };
}
