import { type Queries, sql } from "@countersign/postgres";
import type { BudgetUse } from "../budget/budget.ts";

/**
 * Returns the use of all budgets but those of single accounts, which are too many to watch. The conditions on
 * the budget are those of the index budget_usage_common.
 */
export const commonBudgetUse = (queries: Queries, now: Date): Promise<BudgetUse[]> =>
  queries.query(sql`
    SELECT chain_name AS "chainName", budget AS "windowId", ends_at AS "endsAt", count::float8, computation::float8,
      fees::float8 FROM budget_usage
    WHERE ends_at > ${now}::timestamptz AND budget NOT LIKE 'account/%' AND budget NOT LIKE 'open/%'
    ORDER BY ends_at LIMIT 1000`);
