import { sleepUntil } from "@countersign/core";
import { LRUCache } from "lru-cache";
import type { Binding } from "../policy/account.ts";

const MAX_CACHED_ACCOUNTS = 50_000;
/** How long a read may answer later requests, counted from its beginning. */
const CACHE_MS = 500;
/** After a change, until no replica has an older read; a timer may end a moment early. */
const FORGET_MS = CACHE_MS + 20;

/** Returns whether an account is bound and not rotating: then its bindings may be cached. */
const isUnchanging = (found: readonly Binding[]): boolean =>
  found.length > 0 && found.every(({ rotatingTo }) => rotatingTo === undefined);

export interface KnownBindings {
  find(accountId: string): Promise<Binding[]>;
  /** Forgets the account's bindings in this process. */
  forget(accountId: string): void;
  /** Also resolves only when no replica answers by a read from before this call. */
  forgetEverywhere(accountId: string): Promise<void>;
}

/**
 * Caches accounts' bindings for CACHE_MS, also while they are being read, but not during a rotation. A
 * change that every replica must know before it goes on, such as a rotation, waits for `forgetEverywhere`.
 */
export function createKnownBindings(read: (accountId: string) => Promise<Binding[]>): KnownBindings {
  const reads = new LRUCache<string, { start: number; found: Promise<Binding[]> }>({ max: MAX_CACHED_ACCOUNTS });

  const begun = (accountId: string): Promise<Binding[]> | undefined => {
    const known = reads.get(accountId);
    return known && performance.now() - known.start < CACHE_MS ? known.found : undefined;
  };
  const begin = (accountId: string): Promise<Binding[]> => {
    const reading = { start: performance.now(), found: read(accountId) };
    reads.set(accountId, reading);
    const drop = () => {
      if (reads.peek(accountId) === reading) reads.delete(accountId);
    };
    reading.found.then((found) => isUnchanging(found) || drop(), drop);
    return reading.found;
  };
  const forget = (accountId: string): void => void reads.delete(accountId);

  return {
    async find(accountId) {
      const earlier = begun(accountId);
      if (!earlier) return begin(accountId);
      const found = await earlier;
      // A new binding or rotation may have been committed since: only a read that starts now is current.
      return isUnchanging(found) ? found : (begun(accountId) ?? begin(accountId));
    },
    forget,
    async forgetEverywhere(accountId) {
      forget(accountId);
      await sleepUntil(FORGET_MS, []);
    },
  };
}
