export { claimRows } from "./claim.ts";
export {
  DatabaseRestoredError,
  openDatabaseMark,
  type Restore,
  renewDatabaseMark,
  restoreDatabase,
} from "./database-mark.ts";
export { type DeleteBatch, deleteBatches, deleteInBatches, deletionOf } from "./delete-rows.ts";
export { groupUses } from "./group-uses.ts";
export { lockAccount, withAccountLock } from "./lock-account.ts";
export type { PoolOptions } from "./pool.ts";
export { openPostgres, type Postgres, type Queries, queriesIn } from "./postgres.ts";
export { type KeyColumn, primaryKeyOf } from "./primary-key.ts";
export { createRecentReads, type RecentReads } from "./recent-reads.ts";
export { createShardBatcher } from "./shards.ts";
export { type Statement, sql, sqlFile } from "./statement.ts";
export { type Change, writeTogether } from "./write-together.ts";
