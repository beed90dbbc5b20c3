import { DAY_MS } from "@countersign/core";
import { deleteInBatches, deletionOf, type Queries, sql } from "@countersign/postgres";

/** A creation that ended is read by nobody; this long, support finds its transaction. */
const CREATIONS_MS = 30 * DAY_MS;
/** Device asks for an attempt until it has forgotten the request, which is 30 days after its end. */
const KEY_ADDITIONS_MS = 60 * DAY_MS;

/**
 * Deletes creations and key additions that ended long ago. Returns whether some are left. Every replica may
 * do it: it is idempotent.
 */
export const deleteExpiredRows =
  (queries: Queries) =>
  (now: Date): Promise<boolean> => {
    const ago = (ms: number) => new Date(now.getTime() - ms);
    const deletion = deletionOf.bind(undefined, queries);
    return deleteInBatches([
      deletion("creation", sql`state = 'sealed' AND lease_until < ${ago(CREATIONS_MS)} ORDER BY lease_until`),
      deletion("creation", sql`state = 'failed' AND lease_until < ${ago(CREATIONS_MS)} ORDER BY lease_until`),
      deletion("key_addition", sql`state <> 'submitted' AND created_at < ${ago(KEY_ADDITIONS_MS)} ORDER BY created_at`),
    ]);
  };
