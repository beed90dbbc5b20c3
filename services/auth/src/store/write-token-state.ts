import { type Queries, sqlFile } from "@countersign/postgres";

/** Access that a transaction takes away, or gives back. */
export interface TokenStateChange {
  readonly kind: "session" | "account" | "key";
  readonly accountId: string;
  /** The session's or the account's id; of a key, account id, algorithm and key, separated by slashes. */
  readonly subject: string;
  /** False: a freeze was lifted, `until` says when. */
  readonly active?: boolean;
  /** When the entry ends to matter; without it and without `forMs`, when it is lifted. */
  readonly until?: Date;
  /** Milliseconds from the database's time on: `until` for those whose own time may be long past. */
  readonly forMs?: number;
}

const writeStatement = sqlFile(new URL("../../sql/write-token-state.sql", import.meta.url));

/**
 * Writes entries of the token state, each at the next position of its bucket. The rows of `token_state_head`
 * stay locked until the commit, so that a bucket's positions become visible in their order. This must be the
 * transaction's last statement that locks anything: who holds a head waits for heads of higher buckets only,
 * so no two transactions wait for each other. A position is the time in milliseconds or more: a commit that a
 * failover loses had an earlier one than all commits after it (ADR 56).
 */
export async function writeTokenState(tx: Queries, changes: readonly TokenStateChange[]): Promise<void> {
  if (changes.length === 0) return;
  await tx.execute(writeStatement({ changes: JSON.stringify(changes) }));
}
