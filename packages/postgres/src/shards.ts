import { createBatcher } from "@countersign/core";
import type { Postgres } from "./postgres.ts";

/**
 * As createBatcher. On a database of several nodes the items of each shard key have batches of their own, so
 * that a statement is about one shard.
 */
export function createShardBatcher<T, R>(
  postgres: Pick<Postgres, "isDistributed">,
  shardKeyOf: (item: T) => string,
  ...options: Parameters<typeof createBatcher<T, R>>
): (item: T) => Promise<R> {
  const batch = createBatcher(...options);
  return async (item) => batch(item, (await postgres.isDistributed()) ? shardKeyOf(item) : "");
}
