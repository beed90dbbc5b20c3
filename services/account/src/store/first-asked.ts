import { LRUCache } from "lru-cache";
import type { FirstAskedAt } from "../domain/key-additions/named-transaction.ts";

const MAX_REMEMBERED = 10_000;

/**
 * Remembers the heights in this process's memory: where one is forgotten, or another replica is asked, a
 * client only waits longer.
 */
export function rememberFirstAsked(maxRemembered = MAX_REMEMBERED): FirstAskedAt {
  const heights = new LRUCache<string, bigint>({ max: maxRemembered });
  return (chainName, transactionId, height) => {
    const name = `${chainName}/${transactionId}`;
    const first = heights.get(name) ?? height;
    heights.set(name, first);
    return first;
  };
}
