import type { PrismaClient } from "./generated/client.ts";

/** What is reserved or used of a budget in a window that is not over. */
export interface BudgetUse {
  readonly chainName: string;
  /** See BudgetWindow. */
  readonly windowId: string;
  readonly count: number;
  readonly computation: number;
  /** In 10⁻⁸ FLOW. */
  readonly fees: number;
}

/** The use of all budgets but the accounts' own, which are too many to watch. */
export async function commonBudgetUse(prisma: PrismaClient, now: Date): Promise<BudgetUse[]> {
  const rows = await prisma.budgetUsage.findMany({
    where: { endsAt: { gt: now }, NOT: { budget: { startsWith: "account/" } } },
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

/** Windows that are over, and reservations that wait for nothing: before then, a repeated signature of theirs takes nothing anew. */
export async function pruneBudgets(prisma: PrismaClient, before: Date): Promise<void> {
  await prisma.budgetUsage.deleteMany({ where: { endsAt: { lt: before } } });
  await prisma.budgetReservation.deleteMany({
    where: { renewedAt: { lt: before }, OR: [{ settledAt: { not: null } }, { computation: 0 }] },
  });
}
