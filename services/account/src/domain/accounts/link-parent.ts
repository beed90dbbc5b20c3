import { AppError, type Clock } from "@countersign/core";
import type { AccountStore } from "../ports.ts";
import type { Account, AccountAddress } from "./account.ts";
import { cadenceAddressesOf, findAccount } from "./account-on-chain.ts";

/** The chain, as far as reading parents needs it. */
export interface ParentChain {
  readonly chainName: string;
  readonly evmChainId: number;
  /** The accounts that hold a live link to this one; 16 hex digits all. */
  parentsOf(address: string, signal: AbortSignal): Promise<readonly string[]>;
}

interface Options {
  readonly store: Pick<AccountStore, "find" | "setParents">;
  readonly chains: ReadonlyMap<string, ParentChain>;
  readonly clock: Clock;
}

/** Of a chain. They are part of each answer about the account, and its owner could link thousands. */
const MAX_PARENTS = 100;

/**
 * Reads the account's parents from each of its chains and stores them: a link that is gone on chain is
 * removed.
 * Errors: AccountNotFound, AccountNotReady, ParentNotLinked; those of the chain, which change nothing.
 *
 * Writes: the parents and the event, in one commit; nothing where they are the same.
 * Crash: nothing or all of it is written; a repeated call reads the chains again.
 * Race: the store takes one call of an account at a time; the last one to read the chains may not be the last
 * to write, until the next call.
 */
export const linkParent =
  ({ store, chains, clock }: Options) =>
  async (accountId: string, signal: AbortSignal): Promise<Account> => {
    const addresses = await cadenceAddressesOf(store, accountId);
    if (addresses.length === 0) throw new AppError("AccountNotReady");
    const read = addresses.map(async ({ chainName, address }): Promise<AccountAddress[]> => {
      const chain = chains.get(chainName);
      if (!chain) return [];
      const parents = (await chain.parentsOf(address, signal)).slice(0, MAX_PARENTS);
      return parents.map((parent) => ({ chainName, chainType: "cadence", address: parent, chainId: chain.evmChainId }));
    });
    // All or nothing: a chain that does not answer must not take its parents off the list.
    const parents = (await Promise.all(read)).flat();
    await store.setParents(accountId, parents, clock.now());
    if (parents.length === 0) throw new AppError("ParentNotLinked");
    return (await findAccount(store, accountId)).account;
  };
