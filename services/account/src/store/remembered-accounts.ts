import { LRUCache } from "lru-cache";
import type { AccountDeployment } from "../domain/accounts/account.ts";
import type { AccountStore } from "../domain/ports.ts";

const MAX_ACCOUNTS = 20_000;

export interface RememberedAccounts {
  find: AccountStore["find"];
  /** An account changed; "" for nobody knows which. For the listener on `account_changed`. */
  forget(accountId: string): void;
}

/**
 * Returns the store for changing parents: this process reads the change at once, before the database's
 * notification.
 */
export const writingParents = (
  { find, setParents }: Pick<AccountStore, "find" | "setParents">,
  { forget }: RememberedAccounts,
): Pick<AccountStore, "find" | "setParents"> => ({
  find,
  async setParents(accountId, parents, now) {
    await setParents(accountId, parents, now);
    forget(accountId);
  },
});

/**
 * Caches accounts that have their addresses: an app reads its account at every start, and it almost never
 * changes. The database notifies all replicas of changes; while the listener is disconnected (`listening`),
 * nothing is cached.
 */
export function rememberAccounts(find: AccountStore["find"], listening: () => boolean): RememberedAccounts {
  const accounts = new LRUCache<string, Map<string, AccountDeployment>>({ max: MAX_ACCOUNTS });
  let changes = 0;

  return {
    async find(accountId, chainName) {
      const known = listening() ? accounts.get(accountId)?.get(chainName) : undefined;
      if (known) return known;
      const before = changes;
      const found = await find(accountId, chainName);
      // A change while we were reading may be one that we did not see.
      if (!found || found.account.addresses.length === 0 || changes !== before || !listening()) return found;
      const chains = accounts.get(accountId) ?? new Map<string, AccountDeployment>();
      accounts.set(accountId, chains.set(chainName, found));
      return found;
    },
    forget(accountId) {
      changes += 1;
      if (accountId === "") accounts.clear();
      else accounts.delete(accountId);
    },
  };
}
