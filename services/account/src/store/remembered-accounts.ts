import { createRecentReads, type RecentReads } from "@countersign/postgres";
import type { AccountDeployment } from "../domain/accounts/account.ts";
import type { AccountStore } from "../domain/ports.ts";

/** Returns the store for changing parents: every replica reads the change once it is acknowledged. */
export const writingParents = (
  { find, setParents }: Pick<AccountStore, "find" | "setParents">,
  { forgetEverywhere }: Pick<RecentReads<unknown>, "forgetEverywhere">,
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
export const rememberAccounts = (find: AccountStore["find"], chainNames: () => Iterable<string>) =>
  createRecentReads(
    find,
    (found: AccountDeployment | undefined) =>
      found !== undefined &&
      [...chainNames()].every((name) => found.account.addresses.some(({ chainName }) => chainName === name)),
  );
