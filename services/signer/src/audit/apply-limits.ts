import { AppError } from "@countersign/core";
import {
  type BudgetWindow,
  isOpenFees,
  mergeReservations,
  type Reservation,
  readWindowId,
  reservationId,
} from "../budget/budget.ts";
import { type BudgetState, findOverBudget, usageId } from "../budget/over-budget.ts";
import type { CountedSignatures } from "./audit-store.ts";
import type { AuditEntry } from "./record.ts";

/** A decision and what its signature may use of budgets. */
export interface Decision {
  readonly entry: AuditEntry;
  readonly reservation: Reservation | undefined;
}

/**
 * Returns the verdicts of a batch, in its order, after the limit of signatures per minute and the budgets. An
 * entry over the limit is RateLimited and uses no budget; of the others, one whose reservation does not fit
 * is BudgetExceeded. `counts` are those after the whole batch was added.
 */
export function applyLimits(
  batch: readonly Decision[],
  { counts: added, limit }: CountedSignatures,
  counts: ReadonlyMap<string, number>,
  budgets: BudgetState,
): { verdicts: string[]; reservations: Reservation[]; full: ReadonlyMap<string, BudgetWindow> } {
  const soFar = new Map([...added].map(([id, count]) => [id, (counts.get(id) ?? count) - count]));
  const isWithinLimit = ({ entry }: Decision): boolean => {
    const { limitId } = entry;
    if (limitId === "") return true;
    const count = soFar.get(limitId)! + 1;
    soFar.set(limitId, count);
    return count <= limit;
  };
  const within = new Set(batch.filter(isWithinLimit));
  const requested = withLastLimits(mergeReservations([...within].flatMap(({ reservation }) => reservation ?? [])));
  const full = findOverBudget(requested, budgets);
  const verdicts = batch.map((decision) => {
    if (!within.has(decision)) return "RateLimited";
    const { entry, reservation } = decision;
    return reservation && full.has(reservationId(reservation)) ? "BudgetExceeded" : entry.verdict;
  });
  return { verdicts, reservations: requested.filter((each) => !full.has(reservationId(each))), full };
}

/**
 * Judges all by the limits of the last that names a window, as the statement does that writes them: where the
 * policy changed meanwhile, it would otherwise refuse the whole batch.
 */
function withLastLimits(reservations: readonly Reservation[]): Reservation[] {
  const last = new Map(
    reservations.flatMap(({ chainName, windows }) =>
      windows.map((each) => [usageId(chainName, each.id), each] as const),
    ),
  );
  return reservations.map((each) => ({
    ...each,
    windows: each.windows.map((window) => last.get(usageId(each.chainName, window.id)) ?? window),
  }));
}

/** Returns the error of a signature that did not fit into this window of a budget. */
export function budgetExceeded(window: BudgetWindow): AppError {
  const { scope, windowSeconds } = readWindowId(window.id);
  return new AppError("SigningRefused", {
    detail: isOpenFees(window.id)
      ? "too many transactions of this account are signed and not sent: send them, or wait until they expire"
      : `the ${scope}'s budget of ${windowSeconds} seconds is used up until ${window.endsAt.toISOString()}`,
    metadata: { reason: "BudgetExceeded" },
  });
}
