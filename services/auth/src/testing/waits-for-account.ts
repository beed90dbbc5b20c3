import { sql } from "@countersign/postgres";
import { lockAccess } from "../store/begin-sessions.ts";
import { postgres } from "./store-fixture.ts";

/** Does work while the account's access is locked. Returns whether it waited for the lock. */
export async function waitsForAccount(accountId: string, work: () => Promise<unknown>): Promise<boolean> {
  const { working, isWaiting } = await postgres.transaction(async (tx) => {
    await lockAccess(tx, accountId);
    let isDone = false;
    const working = work().finally(() => {
      isDone = true;
    });
    for (let isWaiting = false; ; ) {
      const rows = await postgres.query(sql`
        SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`);
      isWaiting = rows.length > 0;
      // In an object: the transaction would wait for a promise.
      if (isWaiting || isDone) return { working, isWaiting };
    }
  });
  await working;
  return isWaiting;
}
