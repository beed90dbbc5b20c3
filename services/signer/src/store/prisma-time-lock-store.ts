import { eventRow } from "@countersign/events";
import { lockAccount, queriesIn } from "@countersign/postgres";
import type { TimeLockStore } from "../domain/ports.ts";
import { isInEffect, succeeding, type TimeLock } from "../policy/time-lock.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";

type Change = "time-lock-started" | "time-lock-cancelled";

async function emit(tx: Prisma.TransactionClient, event: Change, lock: TimeLock, now: Date, requestId: string) {
  const { id, accountId, operation, availableAt, chainName } = lock;
  const payload =
    event === "time-lock-started"
      ? { timeLockStarted: { id, operation, availableAt, chainName } }
      : { timeLockCancelled: { id, operation } };
  await tx.outbox.create({ data: eventRow("signer", event, { accountId, occurredAt: now, requestId }, payload) });
}

/** Keeps time locks in Postgres: of racing first requests, over all replicas, one starts the time lock. */
export function prismaTimeLockStore(prisma: PrismaClient): TimeLockStore {
  return {
    async startOrFind(requested) {
      const { accountId, chainName, operation, requestHash, startedAt } = requested;
      return prisma.$transaction(async (tx) => {
        await lockAccount(queriesIn(tx), accountId);
        const where = { accountId_chainName_operation: { accountId, chainName, operation } };
        const known = await tx.timeLock.findUnique({ where });
        if (known && known.requestHash === requestHash && isInEffect(known, startedAt)) return known;
        const started = succeeding(known, requested);
        const { accountId: _account, chainName: _chain, operation: _operation, ...changed } = started;
        await tx.timeLock.upsert({ where, create: started, update: changed });
        await emit(tx, "time-lock-started", started, startedAt, "");
        return started;
      });
    },

    list: async (accountId, now) =>
      (await prisma.timeLock.findMany({ where: { accountId }, orderBy: { startedAt: "desc" } })).filter((lock) =>
        isInEffect(lock, now),
      ),

    cancel: (accountId, id, now, requestId) =>
      prisma.$transaction(async (tx) => {
        const { count } = await tx.timeLock.updateMany({
          where: { accountId, id, cancelledAt: null },
          data: { cancelledAt: now },
        });
        const lock = await tx.timeLock.findFirst({ where: { accountId, id } });
        if (lock && count === 1) await emit(tx, "time-lock-cancelled", lock, now, requestId);
        return lock ?? undefined;
      }),
  };
}
