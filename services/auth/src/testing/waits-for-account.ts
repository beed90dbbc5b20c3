import { type Queries, sql } from "@countersign/postgres";
import { lockAccess } from "../store/begin-sessions.ts";
import { postgres } from "./store-fixture.ts";

/**
 * Does work while the account's access is locked. Returns whether it waited for the lock, whose transaction
 * does `meanwhile` then.
 */
export async function waitsForAccount(
  accountId: string,
  work: () => Promise<unknown>,
  meanwhile?: (tx: Queries) => Promise<unknown>,
): Promise<boolean> {
  const { working, isWaiting } = await postgres.transaction(async (tx) => {
    await lockAccess(tx, accountId);
    let isDone = false;
    const working = work().finally(() => {
      isDone = true;
    });
    let isWaiting = false;
    while (!isWaiting && !isDone) {
      const rows = await postgres.query(sql`
        SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`);
      isWaiting = rows.length > 0;
    }
    await meanwhile?.(tx);
    // In an object: the transaction would wait for a promise.
    return { working, isWaiting };
  });
  await working;
  return isWaiting;
}
