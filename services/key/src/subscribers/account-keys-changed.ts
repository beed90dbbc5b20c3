import { isUuid } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";
import { LRUCache } from "lru-cache";
import type { FollowChain } from "../domain/follow-chain.ts";

const MAX_REMEMBERED = 10_000;

/**
 * Handles account's account-keys-changed: reads the chain itself. Idempotent, in any order. One that a newer
 * change of the account on this chain has followed is done: NATS delivers the newer one until it succeeds.
 * An account whose keys cannot be read would otherwise have thousands that are tried for a week, before those
 * of others.
 */
export function onAccountKeysChanged(follow: (command: FollowChain) => Promise<void>) {
  const newest = new LRUCache<string, bigint>({ max: MAX_REMEMBERED });
  return async ({ event }: DeliveredEvent): Promise<void> => {
    const { accountId, requestId, accountKeysChanged } = event;
    if (!accountKeysChanged || !isUuid(accountId)) return;
    const { chainName, height } = accountKeysChanged;
    const place = `${accountId}/${chainName}`;
    if (height < (newest.get(place) ?? 0n)) return;
    newest.set(place, height);
    await follow({ accountId, requestId, atLeast: { chainName, height } });
  };
}
