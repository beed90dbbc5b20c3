import type { Clock } from "@countersign/core";
import type { FollowChain } from "./follow-chain.ts";

/** Milliseconds in which one look at the chain is enough for an account. */
const FRESH_MS = 1_000;
const MAX_ACCOUNTS = 10_000;

/**
 * Follows the chain before a read, at most once a second for each account. A chain that cannot be read delays the answer no longer than the call's deadline, and
 * the rows are answered as they are.
 */
export function repairOnRead(options: {
  follow(command: FollowChain): Promise<void>;
  clock: Clock;
  onProblem(error: unknown): void;
}) {
  const { follow, clock, onProblem } = options;
  const checked = new Map<string, number>();
  return async (command: FollowChain): Promise<void> => {
    const now = clock.now().getTime();
    if (now - (checked.get(command.accountId) ?? 0) < FRESH_MS) return;
    if (checked.size >= MAX_ACCOUNTS) checked.clear();
    checked.set(command.accountId, now);
    await follow(command).catch(onProblem);
  };
}
