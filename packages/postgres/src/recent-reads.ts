import { sleepUntil } from "@countersign/core";
import { LRUCache } from "lru-cache";

/** How long a read may answer later requests, counted from its beginning. */
const CACHE_MS = 500;
/** A process serves fewer accounts within CACHE_MS; each takes about a kilobyte until it is evicted. */
const MAX_ACCOUNTS = 5_000;
/** After a change, until no replica has an older read; a timer may end a moment early. */
const FORGET_MS = CACHE_MS + 20;

/** Reads about accounts, of which an account may have several, such as one per chain. */
export interface RecentReads<T> {
  find(accountId: string, chainName?: string): Promise<T>;
  /** Forgets what this process has read about the account. */
  forget(accountId: string): void;
  /** Also resolves only when no replica answers by a read from before this call. */
  forgetEverywhere(accountId: string): Promise<void>;
}

/**
 * Caches reads for CACHE_MS from an account's first one, also while they are under way, but only answers for
 * which `isLasting`. A change that every replica must know before it goes on waits for `forgetEverywhere`.
 */
export function createRecentReads<T>(
  read: (accountId: string, chainName: string) => Promise<T>,
  isLasting: (found: T) => boolean,
): RecentReads<T> {
  const accounts = new LRUCache<string, { start: number; reads: Map<string, Promise<T>> }>({ max: MAX_ACCOUNTS });

  const readsOf = (accountId: string): Map<string, Promise<T>> => {
    const now = performance.now();
    const known = accounts.get(accountId);
    if (known && now - known.start < CACHE_MS) return known.reads;
    const reads = new Map<string, Promise<T>>();
    accounts.set(accountId, { start: now, reads });
    return reads;
  };
  const begin = (accountId: string, chainName: string, reads: Map<string, Promise<T>>): Promise<T> => {
    const reading = read(accountId, chainName);
    reads.set(chainName, reading);
    const drop = () => {
      if (reads.get(chainName) === reading) reads.delete(chainName);
    };
    reading.then((found) => isLasting(found) || drop(), drop);
    return reading;
  };
  const forget = (accountId: string): void => void accounts.delete(accountId);

  return {
    async find(accountId, chainName = "") {
      const reads = readsOf(accountId);
      const earlier = reads.get(chainName);
      if (!earlier) return begin(accountId, chainName, reads);
      const found = await earlier;
      if (isLasting(found)) return found;
      // A change may have been committed since: only a read that starts now is current.
      const current = readsOf(accountId);
      return current.get(chainName) ?? begin(accountId, chainName, current);
    },
    forget,
    async forgetEverywhere(accountId) {
      forget(accountId);
      await sleepUntil(FORGET_MS, []);
    },
  };
}
