import type { BudgetUse } from "../budget/budget.ts";
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
