import { type PrismaTransaction, type Queries, queriesIn } from "./postgres.ts";
import { sql } from "./statement.ts";

/**
 * Locks an account's row of the table `account_lock` until the end of the transaction: those that lock the
 * same account come one after the other, whichever replica they are of. The account's first lock inserts it.
 */
export async function lockAccount(tx: Queries, accountId: string): Promise<void> {
  // An update whose condition fails still locks the row.
  await tx.execute(sql`
    INSERT INTO account_lock (account_id) VALUES (${accountId}::uuid)
    ON CONFLICT (account_id) DO UPDATE SET account_id = EXCLUDED.account_id WHERE false`);
}

interface Prisma<Tx> {
  $transaction<T>(work: (tx: Tx) => Promise<T>, options: { maxWait: number; timeout: number }): Promise<T>;
}

/** Runs `work` in a transaction of Prisma's that holds the account's lock: limits hold over all replicas. */
export const withAccountLock = <Tx extends PrismaTransaction, T>(
  prisma: Prisma<Tx>,
  accountId: string,
  work: (tx: Tx) => Promise<T>,
  timeout = 5_000,
): Promise<T> =>
  prisma.$transaction(
    async (tx) => {
      await lockAccount(queriesIn(tx), accountId);
      return work(tx);
    },
    { maxWait: 5_000, timeout },
  );
