import type { AccountKey, KeyAdditionChain } from "../key-additions/key-addition.ts";
import type { AccountStore } from "../ports.ts";
import { cadenceAddressesOf } from "./account-on-chain.ts";

/** The chain, as far as reading an account's keys needs it. */
export type AccountKeysChain = Pick<KeyAdditionChain, "chainName" | "latestBlock" | "accountKeys">;

/** An account's keys on one chain, as of the block at `height`. */
export interface ChainKeys {
  readonly chainName: string;
  readonly height: bigint;
  readonly keys: readonly AccountKey[];
}

/** Every key that an account ever had, by chain; on one chain, if it is named. Errors: AccountNotFound. */
export const listAccountKeys =
  ({ accounts, chains }: { accounts: Pick<AccountStore, "find">; chains: ReadonlyMap<string, AccountKeysChain> }) =>
  async (accountId: string, only: string, signal: AbortSignal): Promise<ChainKeys[]> => {
    const all = await cadenceAddressesOf(accounts, accountId);
    const addresses = all.filter(({ chainName }) => only === "" || chainName === only);
    const read = addresses.map(async ({ chainName, address }) => {
      const chain = chains.get(chainName);
      if (!chain) return [];
      const { height } = await chain.latestBlock(signal);
      // Of this block: the node that answers now may lag behind.
      return [{ chainName, height, keys: await chain.accountKeys(address, signal, height) }];
    });
    return (await Promise.all(read)).flat();
  };
