import { AppError } from "@countersign/core";
import { cadenceAddressesOf } from "../accounts/account-on-chain.ts";
import type { AccountStore, ObservedChain } from "../ports.ts";

export interface Balance {
  readonly chainName: string;
  readonly owner: "paymaster" | "creator" | "account";
  /** 16 hex digits. */
  readonly address: string;
  /** In FLOW, with eight decimals. */
  readonly flow: string;
}

const DECIMALS = 8;

/** Returns an amount of 10⁻⁸ FLOW in FLOW. */
export const toFlow = (units: bigint): string => {
  const digits = String(units).padStart(DECIMALS + 1, "0");
  return `${digits.slice(0, -DECIMALS)}.${digits.slice(-DECIMALS)}`;
};

/**
 * Returns the balances of the accounts that pay, and of one more if it is named. Errors: AccountNotFound;
 * AccountNotReady where it is on no chain.
 */
export const listBalances =
  (options: { readonly accounts: Pick<AccountStore, "find">; readonly chains: ReadonlyMap<string, ObservedChain> }) =>
  async (accountId: string, signal: AbortSignal): Promise<Balance[]> => {
    const { accounts, chains } = options;
    const addresses = accountId === "" ? undefined : await cadenceAddressesOf(accounts, accountId);
    if (addresses?.length === 0) throw new AppError("AccountNotReady");
    const read = async (chain: ObservedChain): Promise<Balance[]> => {
      const { chainName, paymaster, creator } = chain;
      const owners: Pick<Balance, "owner" | "address">[] = [
        { owner: "paymaster", address: paymaster },
        { owner: "creator", address: creator.address },
      ];
      const own = addresses?.find((each) => each.chainName === chainName);
      if (own) owners.push({ owner: "account", address: own.address });
      return Promise.all(
        owners.map(async (each) => ({ chainName, ...each, flow: toFlow(await chain.balance(each.address, signal)) })),
      );
    };
    return (await Promise.all([...chains.values()].map(read))).flat();
  };
