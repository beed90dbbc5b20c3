import { AppError } from "@countersign/core";
import { activeKey, FLOW_KEY_ALGORITHMS, isFlowKeyAlgorithm, keyRoleOf } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import type { AccountKey, KeyAdditionChain } from "../key-additions/key-addition.ts";
import type { AccountStore } from "../ports.ts";
import type { AccountAddress, AccountDeployment } from "./account.ts";

/**
 * Returns an account with its deployment on `chainName`, or without one for an empty name. Errors:
 * AccountNotFound.
 */
export async function findAccount(
  accounts: Pick<AccountStore, "find">,
  accountId: string,
  chainName = "",
): Promise<AccountDeployment> {
  const found = await accounts.find(accountId, chainName);
  if (!found) throw new AppError("AccountNotFound");
  return found;
}

/** Returns the account's Cadence addresses on all chains, 16 hex digits each. Errors: AccountNotFound. */
export async function cadenceAddressesOf(
  accounts: Pick<AccountStore, "find">,
  accountId: string,
): Promise<AccountAddress[]> {
  const { account } = await findAccount(accounts, accountId);
  return account.addresses.filter(({ chainType }) => chainType === "cadence");
}

/**
 * Returns the account's Cadence address on a chain, 16 hex digits. Errors: AccountNotFound, AccountNotReady.
 */
export async function cadenceAddressOf(
  accounts: Pick<AccountStore, "find">,
  accountId: string,
  chainName: string,
): Promise<string> {
  const { account } = await findAccount(accounts, accountId, chainName);
  const address = account.addresses.find((each) => each.chainName === chainName && each.chainType === "cadence");
  if (!address) throw new AppError("AccountNotReady");
  return address.address;
}

/** Requires a key that the chain can carry. Errors: UnsupportedKey. */
export function requireFlowKey(chainName: string, { algorithm }: PublicKey): void {
  if (isFlowKeyAlgorithm(algorithm)) return;
  throw new AppError("UnsupportedKey", { detail: `${chainName} carries keys of ${FLOW_KEY_ALGORITHMS.join(" and ")}` });
}

/** Returns the active server key. Errors: AccountNotReady where there is none. */
export function serverKeyOf(keys: readonly AccountKey[]): AccountKey {
  const found = activeKey(keys, "server");
  if (!found) throw new AppError("AccountNotReady", { detail: "The account has no server key on this chain" });
  return found;
}

/** Returns whether a node that lags behind has shown the keys: one was added at this index, which stays. */
export const areBehind = (keys: readonly AccountKey[], index: number): boolean =>
  keys.every((key) => key.index < index);

/**
 * Returns how a transaction went, with the account's keys after it; undefined while it may still come. The
 * height is read before the keys: what is too old at it cannot execute after they are read. Its own block
 * counts: the newest one may be that of a node which lags behind.
 */
export async function keysAfter(chain: KeyAdditionChain, transactionId: string, address: string, signal: AbortSignal) {
  const { status, height: executedAt = 0n } = await chain.keyAdditionOutcome(transactionId, signal);
  if (status === "pending") return undefined;
  const { height } = await chain.latestBlock(signal);
  const keys = await chain.accountKeys(address, signal, executedAt > height ? executedAt : height);
  return { status, height, keys };
}

/**
 * Requires fewer user keys than the limit, so that no key is put on chain that could not be registered.
 * Errors: TooManyKeys.
 */
export function requireBelowKeyLimit(keys: readonly AccountKey[], maxUserKeys: number): void {
  const active = keys.filter((key) => !key.revoked && keyRoleOf(key) === "user");
  if (active.length >= maxUserKeys) throw new AppError("TooManyKeys");
}
