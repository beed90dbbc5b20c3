import { type Queries, sql } from "@countersign/postgres";
import { type Amounts, type BudgetWindow, type Reservation, reservationId } from "../budget/budget.ts";
import { type BudgetState, type Reserved, usageId } from "../budget/over-budget.ts";

/** Returns reservations and the windows that they name as JSON texts for one statement. */
export function chargeRows(reservations: readonly Reservation[]): { asked: string; windows: string } {
  // By the last of a batch: where the policy changed meanwhile, its limits are the new ones.
  const named = new Map<string, { chainName: string; window: BudgetWindow }>();
  for (const { chainName, windows } of reservations)
    for (const window of windows) named.set(usageId(chainName, window.id), { chainName, window });
  const windows = [...named.values()].map(({ chainName, window: { id, endsAt, limits } }) => ({
    chain_name: chainName,
    budget: id,
    ends_at: endsAt,
    most_count: limits.count,
    most_computation: limits.computation,
    most_fees: limits.fees,
  }));
  const asked = reservations.map((each) => ({
    chain_name: each.chainName,
    proposal: each.proposal,
    reference_block: each.referenceBlock,
    count: each.amounts.count,
    computation: each.amounts.computation,
    fees: each.amounts.fees,
    budgets: each.windows.map(({ id }) => id),
  }));
  return { asked: JSON.stringify(asked), windows: JSON.stringify(windows) };
}

interface ReservedRow extends Amounts, Pick<Reserved, "referenceBlock" | "settled"> {
  chainName: string;
  proposal: string;
  windowIds: string[];
}
interface UsedRow extends Amounts {
  chainName: string;
  windowId: string;
}

/**
 * Reads and locks these reservations and their windows until the transaction ends; for a missing row an empty
 * one is written and locked.
 */
export async function lockBudgets(tx: Queries, reservations: readonly Reservation[]): Promise<BudgetState> {
  const { asked, windows } = chargeRows(reservations);
  const reserved = await tx.query<ReservedRow>(sql`
    INSERT INTO budget_reservation AS r (chain_name, proposal, reference_block, computation, fees, budgets,
      added_count, added_computation, added_fees)
    SELECT chain_name, proposal, '', 0, 0, '{}', 0, 0, 0
    FROM json_to_recordset(${asked}::json) AS t(chain_name text, proposal text) ORDER BY chain_name, proposal
    ON CONFLICT (chain_name, proposal) DO UPDATE SET proposal = EXCLUDED.proposal
    RETURNING chain_name AS "chainName", proposal, reference_block AS "referenceBlock", count, computation::float8,
      fees::float8, budgets AS "windowIds", settled_at IS NOT NULL AS settled`);
  const used = await tx.query<UsedRow>(sql`
    INSERT INTO budget_usage AS u (chain_name, budget, ends_at, count, computation, fees)
    SELECT chain_name, budget, ends_at, 0, 0, 0
    FROM json_to_recordset(${windows}::json) AS t(chain_name text, budget text, ends_at timestamptz)
    ORDER BY chain_name, budget
    ON CONFLICT (chain_name, budget) DO UPDATE SET budget = EXCLUDED.budget
    RETURNING chain_name AS "chainName", budget AS "windowId", count::float8, computation::float8, fees::float8`);
  return {
    reserved: new Map(
      reserved
        .filter(({ windowIds }) => windowIds.length > 0)
        .map(({ chainName, proposal, referenceBlock, windowIds, settled, ...amounts }) => [
          reservationId({ chainName, proposal }),
          { amounts, referenceBlock, windowIds: new Set(windowIds), settled },
        ]),
    ),
    used: new Map(used.map(({ chainName, windowId, ...amounts }) => [usageId(chainName, windowId), amounts])),
  };
}

/** Takes the empty rows away that no reservation came to fill. */
export async function removeEmpty(tx: Queries, reservations: readonly Reservation[]): Promise<void> {
  await tx.execute(sql`
    DELETE FROM budget_reservation r USING json_to_recordset(${chargeRows(reservations).asked}::json) AS t(chain_name text, proposal text)
    WHERE r.chain_name = t.chain_name AND r.proposal = t.proposal AND r.budgets = '{}'`);
}
