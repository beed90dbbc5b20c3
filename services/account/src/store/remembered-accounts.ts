import { sleepUntil } from "@countersign/core";
import { LRUCache } from "lru-cache";
import type { AccountDeployment } from "../domain/accounts/account.ts";
import type { AccountStore } from "../domain/ports.ts";

const MAX_ACCOUNTS = 20_000;
/** How long a read may answer later requests, counted from its beginning. */
const CACHE_MS = 500;
/** After a change, until no replica has an older read; a timer may end a moment early. */
const FORGET_MS = CACHE_MS + 20;

export interface RememberedAccounts {
  find: AccountStore["find"];
  /** Forgets an account that has changed; resolves when no replica answers by a read from before. */
  forgetEverywhere(accountId: string): Promise<void>;
}

/** Returns the store for changing parents: every replica reads the change once it is acknowledged. */
export const writingParents = (
  { find, setParents }: Pick<AccountStore, "find" | "setParents">,
  { forgetEverywhere }: RememberedAccounts,
): Pick<AccountStore, "find" | "setParents"> => ({
  find,
  async setParents(accountId, parents, now) {
    await setParents(accountId, parents, now);
    await forgetEverywhere(accountId);
  },
});

/**
 * Caches accounts that are on every chain, for half a second: their parents alone change. One request of a
 * person makes several reads.
 */
export function rememberAccounts(find: AccountStore["find"], chainNames: readonly string[]): RememberedAccounts {
  const reads = new LRUCache<string, { start: number; found: Map<string, AccountDeployment> }>({ max: MAX_ACCOUNTS });
  let changes = 0;
  const isOnAll = ({ account: { addresses } }: AccountDeployment): boolean =>
    chainNames.every((chainName) => addresses.some((address) => address.chainName === chainName));

  return {
    async find(accountId, chainName) {
      const [before, start] = [changes, performance.now()];
      const read = reads.get(accountId);
      const isFresh = read !== undefined && start - read.start < CACHE_MS;
      const known = isFresh && read.found.get(chainName);
      if (known) return known;
      const found = await find(accountId, chainName);
      // A change while we were reading may be one that we did not see.
      if (!found || !isOnAll(found) || changes !== before) return found;
      // A read for another chain answers for as long as the first.
      if (isFresh) read.found.set(chainName, found);
      else reads.set(accountId, { start, found: new Map([[chainName, found]]) });
      return found;
    },
    async forgetEverywhere(accountId) {
      changes += 1;
      reads.delete(accountId);
      await sleepUntil(FORGET_MS, []);
    },
  };
}
