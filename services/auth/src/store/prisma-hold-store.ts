import { queriesIn } from "@countersign/postgres";
import { BY_ADMINISTRATOR, type Hold, type HoldStore, type PlacedHold } from "../domain/freeze/holds.ts";
import { lockAccess } from "./begin-sessions.ts";
import { publishAccountFrozen } from "./events.ts";
import type { Prisma, PrismaClient, AccountHold as Row } from "./generated/client.ts";
import { hasLeft, isFrozen, isHeld, notifyServices } from "./prisma-freeze-store.ts";

type Tx = Prisma.TransactionClient;

/** Alerts that hold an account at once: one more takes the place of the newest, which lifts nothing then. */
const MAX_HOLDS = 500;
/** More than an account has: those that are lifted are to have been seen. */
const MAX_LISTED = 2 * MAX_HOLDS;

const toHold = ({ liftedAt: _at, liftedBy: _by, liftReason: _reason, ...hold }: Row) => hold;

/**
 * Freezes an account, with its event. Idempotent by alert, unless a later one has taken its place: then the
 * account stays frozen.
 */
export async function placeHold(tx: Tx, hold: Hold, now: Date): Promise<void> {
  const { accountId, ...alert } = hold;
  const { alertId, eventType } = alert;
  await lockAccess(queriesIn(tx), accountId);
  if ((await tx.accountHold.count({ where: { accountId, alertId } })) > 0) return;
  const before = await isFrozen(tx, accountId);
  // After the account's other holds, whichever clock they had: lifting those that were seen leaves this one.
  const [newest] = await tx.accountHold.findMany({ where: { accountId }, orderBy: { placedAt: "desc" }, take: 1 });
  const placedAt = new Date(Math.max(now.getTime(), (newest?.placedAt.getTime() ?? 0) + 1));
  const alerts = { accountId, liftedAt: null, eventType: { not: BY_ADMINISTRATOR } };
  const select = { alertId: true } as const;
  const open = await tx.accountHold.findMany({ where: alerts, orderBy: { placedAt: "desc" }, take: MAX_HOLDS, select });
  const data = { ...alert, placedAt };
  if (open.length < MAX_HOLDS || eventType === BY_ADMINISTRATOR)
    await tx.accountHold.create({ data: { accountId, ...data } });
  else await tx.accountHold.updateMany({ where: { accountId, alertId: open[0]!.alertId }, data });
  if (before) return;
  await notifyServices(tx, accountId, true, now);
  const cause = eventType === BY_ADMINISTRATOR ? "administrator" : "chain-alert";
  await publishAccountFrozen(tx, { accountId, requestId: "", now }, { frozen: true, cause });
}

interface Lift {
  readonly accountId: string;
  /** The newest alert that the operator has seen: later ones still hold the account. */
  readonly seen: string;
  readonly by: string;
  readonly reason: string;
  readonly now: Date;
}

/** Ends holds, with the event. Returns them, and what still keeps the account frozen. */
export async function liftHolds(
  tx: Tx,
  { accountId, seen, by, reason, now }: Lift,
): Promise<{ holds: PlacedHold[]; still: "held" | "frozen-by-user" | "left" | undefined }> {
  await lockAccess(queriesIn(tx), accountId);
  const newest = await tx.accountHold.findFirst({ where: { accountId, alertId: seen } });
  const rows = await tx.accountHold.updateManyAndReturn({
    where: { accountId, liftedAt: null, placedAt: { lte: newest?.placedAt ?? new Date(0) } },
    data: { liftedAt: now, liftedBy: by, liftReason: reason },
  });
  const holds = rows.map(toHold);
  if (await isHeld(tx, accountId)) return { holds, still: "held" };
  if (await isFrozen(tx, accountId)) return { holds, still: "frozen-by-user" };
  if (await hasLeft(tx, accountId)) return { holds, still: "left" };
  if (holds.length > 0) {
    const cause = holds.every(({ eventType }) => eventType === BY_ADMINISTRATOR) ? "administrator" : "chain-alert";
    await notifyServices(tx, accountId, false, now);
    await publishAccountFrozen(tx, { accountId, requestId: "", now }, { frozen: false, cause });
  }
  return { holds, still: undefined };
}

/**
 * Returns the newest 1,000 holds of an account that were not lifted, or the newest one of each of 1,000
 * accounts. The oldest comes first.
 */
export async function openHolds({ accountHold }: Pick<PrismaClient, "accountHold">, accountId?: string) {
  const where: Prisma.AccountHoldWhereInput = { liftedAt: null };
  if (accountId === undefined) {
    const _max = { placedAt: true } as const;
    const orderBy = { _max: { placedAt: "desc" } } as const;
    const newest = await accountHold.groupBy({ by: ["accountId"], where, _max, orderBy, take: MAX_LISTED });
    where.OR = newest.map(({ accountId: id, _max: { placedAt } }) => ({ accountId: id, placedAt: placedAt! }));
  } else where.accountId = accountId;
  const rows = await accountHold.findMany({ where, orderBy: { placedAt: "desc" }, take: MAX_LISTED });
  return rows.map(toHold).reverse();
}

/** Keeps the accounts that the chain watch froze, in Postgres. */
export const prismaHoldStore = (prisma: PrismaClient): HoldStore => ({
  place: (hold, now) => prisma.$transaction((tx) => placeHold(tx, hold, now)),
});
