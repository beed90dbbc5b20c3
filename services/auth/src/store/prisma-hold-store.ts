import { queriesIn } from "@countersign/postgres";
import type { HoldStore } from "../domain/freeze/hold-account.ts";
import { lockAccess } from "./begin-sessions.ts";
import { publishAccountFrozen } from "./events.ts";
import type { PrismaClient, AccountHold as Row } from "./generated/client.ts";
import { hasLeft, isFrozen, isHeld, notifyServices } from "./prisma-freeze-store.ts";

const toHold = ({ liftedAt: _at, liftedBy: _by, liftReason: _reason, ...hold }: Row) => hold;

/** Keeps the accounts that wait for an operator, in Postgres. */
export function prismaHoldStore(prisma: PrismaClient): HoldStore {
  return {
    place: (hold, now) =>
      prisma.$transaction(async (tx) => {
        const { accountId } = hold;
        await lockAccess(queriesIn(tx), accountId);
        const before = await isFrozen(tx, accountId);
        const { count } = await tx.accountHold.createMany({ data: [{ ...hold, placedAt: now }], skipDuplicates: true });
        if (count === 0) return;
        await notifyServices(tx, accountId, true, now);
        if (!before)
          await publishAccountFrozen(tx, { accountId, requestId: "", now }, { frozen: true, cause: "chain-alert" });
      }),

    lift: ({ accountId, seen, by, reason, now }) =>
      prisma.$transaction(async (tx) => {
        await lockAccess(queriesIn(tx), accountId);
        const newest = await tx.accountHold.findFirst({ where: { accountId, alertId: seen } });
        const rows = await tx.accountHold.updateManyAndReturn({
          where: { accountId, liftedAt: null, placedAt: { lte: newest?.placedAt ?? new Date(0) } },
          data: { liftedAt: now, liftedBy: by, liftReason: reason },
        });
        const holds = rows.map(toHold);
        if (await isHeld(tx, accountId)) return { holds, still: "held" as const };
        if (await isFrozen(tx, accountId)) return { holds, still: "frozen-by-user" as const };
        if (await hasLeft(tx, accountId)) return { holds, still: "left" as const };
        if (holds.length > 0) {
          await notifyServices(tx, accountId, false, now);
          await publishAccountFrozen(tx, { accountId, requestId: "", now }, { frozen: false, cause: "chain-alert" });
        }
        return { holds, still: undefined };
      }),

    async open(accountId) {
      const where = { liftedAt: null, ...(accountId !== undefined && { accountId }) };
      return (await prisma.accountHold.findMany({ where, orderBy: { placedAt: "asc" } })).map(toHold);
    },
  };
}
