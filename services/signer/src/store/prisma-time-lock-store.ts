import { uuidv7 } from "@countersign/core";
import { outboxRow } from "@countersign/events";
import type { PublicKey } from "@countersign/keys";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { isStanding, type RecoveryKeys, succeeding, type TimeLock, type TimeLockStore } from "../domain/time-locks.ts";
import { faultPoint } from "../fault-points.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";

type Told = { started: TimeLock } | { cancelled: TimeLock };

async function publish(tx: Prisma.TransactionClient, told: Told, now: Date, requestId: string): Promise<void> {
  const lock = "started" in told ? told.started : told.cancelled;
  const { id: lockId, accountId, operation, availableAt, chainName } = lock;
  const id = uuidv7({ now: () => now });
  const payload: Pick<Event, "timeLockStarted"> | Pick<Event, "timeLockCancelled"> =
    "started" in told
      ? { timeLockStarted: { id: lockId, operation, availableAt, chainName } }
      : { timeLockCancelled: { id: lockId, operation } };
  const message = Event.encode({ id, occurredAt: now, accountId, requestId, ...payload }).finish();
  const event = "started" in told ? "time-lock-started" : "time-lock-cancelled";
  await tx.outbox.create({ data: outboxRow({ service: "signer", accountId, event, message, id, createdAt: now }) });
}

/** Time locks in Postgres: of racing first requests, over all replicas, one starts the delay. */
export function prismaTimeLockStore(prisma: PrismaClient): TimeLockStore {
  return {
    ask: (wish, requestId) =>
      prisma.$transaction(async (tx) => {
        const { accountId, chainName, operation, requestHash, startedAt } = wish;
        await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`delay/${accountId}/${chainName}/${operation}`}, 0))`;
        const where = { accountId_chainName_operation: { accountId, chainName, operation } };
        const known = await tx.timeLock.findUnique({ where });
        if (known && known.requestHash === requestHash && isStanding(known, startedAt)) return known;
        const started = succeeding(known, wish);
        await tx.timeLock.upsert({ where, create: started, update: started });
        await publish(tx, { started }, startedAt, requestId);
        await faultPoint("delay before commit");
        return started;
      }),

    list: async (accountId, now) =>
      (await prisma.timeLock.findMany({ where: { accountId }, orderBy: { startedAt: "desc" } })).filter((lock) =>
        isStanding(lock, now),
      ),

    cancel: (accountId, id, now, requestId) =>
      prisma.$transaction(async (tx) => {
        const { count } = await tx.timeLock.updateMany({
          where: { accountId, id, cancelledAt: null },
          data: { cancelledAt: now },
        });
        const lock = await tx.timeLock.findFirst({ where: { accountId, id } });
        if (lock && count === 1) await publish(tx, { cancelled: lock }, now, requestId);
        return lock ?? undefined;
      }),
  };
}

/** Recovery keys in Postgres. */
export const prismaRecoveryKeys = (prisma: PrismaClient): RecoveryKeys => ({
  async remember({ accountId, chainName }, { publicKey, algorithm }, signedAt) {
    const data = [{ accountId, chainName, publicKey, algorithm, signedAt }];
    await prisma.recoveryKey.createMany({ data, skipDuplicates: true });
  },
  async of({ accountId, chainName }) {
    const rows = await prisma.recoveryKey.findMany({ where: { accountId, chainName } });
    return rows.map(({ publicKey, algorithm }) => ({ publicKey, algorithm: algorithm as PublicKey["algorithm"] }));
  },
});
