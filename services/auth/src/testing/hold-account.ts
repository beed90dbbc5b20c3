import type { Postgres } from "@countersign/postgres";
import { lockAccess } from "../store/begin-sessions.ts";

/** Locks an account's access. Returns how to end that, once it is locked. */
export async function holdAccount(postgres: Postgres, accountId: string): Promise<() => Promise<void>> {
  const [isLocked, unlock] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holder = postgres.transaction(async (tx) => {
    await lockAccess(tx, accountId);
    isLocked.resolve();
    await unlock.promise;
  });
  await isLocked.promise;
  return () => {
    unlock.resolve();
    return holder;
  };
}
