import type { BudgetUse } from "../budget/budget.ts";
import type { PrismaClient } from "./generated/client.ts";

interface UseRow extends Pick<BudgetUse, "chainName" | "windowId"> {
  count: bigint;
  computation: bigint;
  fees: bigint;
}

/**
 * Returns the use of all budgets but those of single accounts, which are too many to watch. The conditions on
 * the budget are those of the index budget_usage_common.
 */
export async function commonBudgetUse(prisma: PrismaClient, now: Date): Promise<BudgetUse[]> {
  const rows = await prisma.$queryRaw<UseRow[]>`
    SELECT chain_name AS "chainName", budget AS "windowId", count, computation, fees FROM budget_usage
    WHERE ends_at > ${now} AND budget NOT LIKE 'account/%' AND budget NOT LIKE 'open/%'
    ORDER BY ends_at LIMIT 1000`;
  return rows.map(({ count, computation, fees, ...window }) => ({
    ...window,
    count: Number(count),
    computation: Number(computation),
    fees: Number(fees),
  }));
}
