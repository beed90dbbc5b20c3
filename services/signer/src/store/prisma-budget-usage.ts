import { type BudgetUse, OPEN_FEES_END } from "../budget/budget.ts";
import type { PrismaClient } from "./generated/client.ts";

/** Returns the use of all budgets but those of single accounts, which are too many to watch. */
export async function commonBudgetUse(prisma: PrismaClient, now: Date): Promise<BudgetUse[]> {
  const rows = await prisma.budgetUsage.findMany({
    where: { endsAt: { gt: now }, NOT: [{ budget: { startsWith: "account/" } }, { budget: { startsWith: "open/" } }] },
    take: 1000,
  });
  return rows.map(({ chainName, budget, count, computation, fees }) => ({
    chainName,
    windowId: budget,
    count: Number(count),
    computation: Number(computation),
    fees: Number(fees),
  }));
}

/**
 * Deletes windows that ended before this time, open fees of accounts that have none, and reservations that
 * are neither open nor younger: until then, the same signature again reserves nothing.
 */
export async function pruneBudgets(prisma: PrismaClient, before: Date): Promise<void> {
  await prisma.budgetUsage.deleteMany({ where: { endsAt: { lt: before } } });
  // Rows that a signature holds are left for the next time: waiting for them here could end in a deadlock.
  await prisma.$executeRaw`
    DELETE FROM budget_usage u USING (
      SELECT chain_name, budget FROM budget_usage WHERE ends_at = ${OPEN_FEES_END} AND fees = 0
      LIMIT 10000 FOR UPDATE SKIP LOCKED) AS t
    WHERE u.chain_name = t.chain_name AND u.budget = t.budget`;
  await prisma.budgetReservation.deleteMany({
    where: { renewedAt: { lt: before }, OR: [{ settledAt: { not: null } }, { computation: 0 }] },
  });
}
