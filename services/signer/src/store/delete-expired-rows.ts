import { DAY_MS, MINUTE_MS } from "@countersign/core";
import { deleteInBatches, deletionOf, type Queries, sql } from "@countersign/postgres";
import { OPEN_FEES_END } from "../budget/budget.ts";

/** Longer than a minute's limit and an ephemeral token are asked for. */
const COUNTS_MS = 10 * MINUTE_MS;
/** Until then, the same signature again reserves nothing. */
const BUDGETS_MS = DAY_MS;
/** A transaction expires after minutes on a network, and only after days on a quiet emulator. */
const SIGNED_TEMPLATES_MS = 7 * DAY_MS;

/**
 * Deletes rows that no rule reads any more. Returns whether some are left. Every replica may do it: it is
 * idempotent.
 */
export const deleteExpiredRows =
  (queries: Queries) =>
  (now: Date): Promise<boolean> => {
    const ago = (ms: number) => new Date(now.getTime() - ms);
    const deletion = deletionOf.bind(undefined, queries);
    return deleteInBatches([
      deletion("signature_count", sql`minute < ${ago(COUNTS_MS)} ORDER BY minute`),
      deletion("ephemeral_use", sql`updated_at < ${ago(COUNTS_MS)} ORDER BY updated_at`),
      deletion("budget_usage", sql`ends_at < ${ago(BUDGETS_MS)} ORDER BY ends_at`),
      // Left by refusals only: settling deletes the others. It passes over accounts with open fees.
      deletion("budget_usage", sql`ends_at = ${OPEN_FEES_END} AND fees = 0 ORDER BY ends_at`),
      deletion(
        "budget_reservation",
        sql`(settled_at IS NOT NULL OR computation = 0) AND renewed_at < ${ago(BUDGETS_MS)} ORDER BY renewed_at`,
      ),
      deletion("signed_template", sql`signed_at < ${ago(SIGNED_TEMPLATES_MS)} ORDER BY signed_at`),
    ]);
  };
