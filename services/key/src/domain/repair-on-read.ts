import type { Clock } from "@countersign/core";
import { LRUCache } from "lru-cache";
import type { FollowChain } from "./follow-chain.ts";

/** How long one read of the chain is fresh enough for an account. */
const FRESH_MS = 1_000;
const MAX_ACCOUNTS = 10_000;

/**
 * Follows the chain before a read, at most once a second for each account. Where the chain cannot be read
 * within the call's deadline, the stored rows are returned as they are.
 */
export function repairOnRead(options: {
  follow(command: FollowChain): Promise<void>;
  clock: Clock;
  onProblem(error: unknown): void;
}) {
  const { follow, clock, onProblem } = options;
  const checked = new LRUCache<string, number>({ max: MAX_ACCOUNTS });
  return async (command: FollowChain): Promise<void> => {
    const now = clock.now().getTime();
    if (now - (checked.get(command.accountId) ?? 0) < FRESH_MS) return;
    checked.set(command.accountId, now);
    await follow(command).catch(onProblem);
  };
}
