import { LRUCache } from "lru-cache";
import type { FollowChain } from "../domain/follow-chain.ts";

/** How long one read of the chain is fresh enough for an account. */
const FRESH_MS = 1_000;
const MAX_ACCOUNTS = 10_000;

/**
 * Wraps followChain for reads of the stored rows: at most once a second for each account. Where the chain
 * cannot be read within the call's deadline, the rows are returned as they are.
 */
export function repairOnRead(follow: (command: FollowChain) => Promise<void>, onProblem: (error: unknown) => void) {
  const fresh = new LRUCache<string, true>({ max: MAX_ACCOUNTS, ttl: FRESH_MS });
  return async (command: FollowChain): Promise<void> => {
    if (fresh.has(command.accountId)) return;
    fresh.set(command.accountId, true);
    await follow(command).catch(onProblem);
  };
}
