import { LRUCache } from "lru-cache";
import type { Binding } from "../policy/account.ts";

const MAX_CACHED_ACCOUNTS = 50_000;
/** A limit for entries whose change this process did not receive. */
const CACHE_MS = 5_000;
/** How long a read may be joined. */
const MAX_SHARED_READ_MS = 500;

/** Returns whether an account is bound and not rotating: then every replica is notified of each change. */
const isUnchanging = (found: readonly Binding[]): boolean =>
  found.length > 0 && found.every(({ rotatingTo }) => rotatingTo === undefined);

export interface KnownBindings {
  find(accountId: string): Promise<Binding[]>;
  /** An account's bindings changed; "" for nobody knows whose. */
  forget(accountId: string): void;
}

/**
 * Caches accounts' bindings. They change only by a rotation, and every replica is notified before it is
 * signed: so what `read` returned is cached while this process listens (`listening`), but not while a
 * rotation is in progress.
 */
export function createKnownBindings(
  read: (accountId: string) => Promise<Binding[]>,
  listening: () => boolean,
): KnownBindings {
  const remembered = new LRUCache<string, Binding[]>({ max: MAX_CACHED_ACCOUNTS, ttl: CACHE_MS });
  /** Reads under way, so that an account with many requests is read once. */
  const underWay = new Map<string, Promise<Binding[]>>();

  /** Starts a read that others may join for a moment, unless a change is notified meanwhile. */
  const readShared = (accountId: string): Promise<Binding[]> => {
    const leave = () => {
      clearTimeout(timer);
      if (underWay.get(accountId) === reading) underWay.delete(accountId);
    };
    // Nobody waits for long on the one connection that does not answer.
    const timer = setTimeout(() => leave(), MAX_SHARED_READ_MS).unref();
    const reading = read(accountId)
      .then((found) => {
        // A change while we were reading may be one that we did not see.
        if (isUnchanging(found) && underWay.get(accountId) === reading && listening()) remembered.set(accountId, found);
        return found;
      })
      .finally(leave);
    underWay.set(accountId, reading);
    return reading;
  };

  return {
    async find(accountId) {
      if (!listening()) return read(accountId);
      const known = remembered.get(accountId);
      if (known) return known;
      const begun = underWay.get(accountId);
      if (!begun) return readShared(accountId);
      const found = await begun;
      // The notification of a new binding or rotation may still be on its way: only a read that starts now is
      // current.
      return isUnchanging(found) ? found : (underWay.get(accountId) ?? readShared(accountId));
    },

    forget(accountId) {
      for (const known of [remembered, underWay]) {
        if (accountId === "") known.clear();
        else known.delete(accountId);
      }
    },
  };
}
