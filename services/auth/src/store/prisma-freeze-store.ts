import type { FreezeStore } from "../domain/freeze-account.ts";
import { publishAccountFrozen } from "./events.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";
import { lockAccess } from "./prisma-session-store.ts";

/** What the services must know; a lifted entry stays until every watcher has heard of it. */
export async function tellServices(tx: Prisma.TransactionClient, accountId: string, active: boolean, now: Date) {
  const until = active ? null : now;
  await tx.$executeRaw`
    INSERT INTO token_state_entry (kind, subject, active, until, txid)
    VALUES ('account', ${accountId}, ${active}, ${until}, pg_current_xact_id()::text::bigint)
    ON CONFLICT (kind, subject) DO UPDATE SET active = EXCLUDED.active, until = EXCLUDED.until, txid = EXCLUDED.txid`;
  await tx.$executeRaw`SELECT pg_notify('token_state', '')`;
}

/** Whether anything keeps an account from being signed for, but for its having left. */
export async function isFrozen(tx: Prisma.TransactionClient, accountId: string): Promise<boolean> {
  return (await tx.frozenAccount.findUnique({ where: { accountId } })) !== null || (await isHeld(tx, accountId));
}

/** Whether an operator has to look at the account first. */
export const isHeld = async (tx: Prisma.TransactionClient, accountId: string): Promise<boolean> =>
  (await tx.accountHold.findFirst({ where: { accountId, liftedAt: null } })) !== null;

/** Frozen accounts in Postgres. */
export function prismaFreezeStore(prisma: PrismaClient): FreezeStore {
  return {
    freeze: ({ accountId, deviceKey, now, requestId }) =>
      prisma.$transaction(async (tx) => {
        await lockAccess(tx, accountId);
        const by = { deviceKeyAlgorithm: deviceKey.algorithm, deviceKey: deviceKey.publicKey };
        const { count } = await tx.frozenAccount.createMany({
          data: [{ accountId, ...by, frozenAt: now }],
          skipDuplicates: true,
        });
        if (count === 0) return;
        await tellServices(tx, accountId, true, now);
        await publishAccountFrozen(tx, { accountId, frozen: true, requestId, cause: "user" }, now);
      }),

    unfreeze: ({ accountId, deviceKey, now, requestId, recoveryDelayMs }) =>
      prisma.$transaction(async (tx) => {
        await lockAccess(tx, accountId);
        if (await isHeld(tx, accountId)) return "held" as const;
        const row = await tx.frozenAccount.findUnique({ where: { accountId } });
        if (!row) return "not-frozen" as const;
        const same = row.deviceKeyAlgorithm === deviceKey.algorithm && row.deviceKey === deviceKey.publicKey;
        if (recoveryDelayMs === undefined && same) return "same-device" as const;
        const availableAt = new Date(row.frozenAt.getTime() + (recoveryDelayMs ?? 0));
        if (now < availableAt) return { availableAt };
        // Nothing is signed for it again, whoever asks.
        if ((await tx.leftAccount.findUnique({ where: { accountId } })) !== null) return "same-device" as const;
        await tx.frozenAccount.delete({ where: { accountId } });
        await tellServices(tx, accountId, false, now);
        await publishAccountFrozen(tx, { accountId, frozen: false, requestId, cause: "user" }, now);
        return "lifted" as const;
      }),
  };
}
