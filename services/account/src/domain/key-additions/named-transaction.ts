import { AppError, chainNamed } from "@countersign/core";
import { cadenceAddressOf } from "../accounts/account-on-chain.ts";
import type { AccountOnChain } from "../ports.ts";
import type { AccountsOnChains, KeyAdditionChain } from "./key-addition.ts";

/**
 * Returns the height of the chain when the transaction was first asked about. Where it was not, or that was
 * forgotten, it is `height` from now on.
 */
export type FirstAskedAt = (chainName: string, transactionId: string, height: bigint) => bigint;

export interface NamedTransactionOptions extends AccountsOnChains {
  readonly firstAskedAt: FirstAskedAt;
}

/** A transaction that a client says has changed an account's keys. */
export interface NamedTransaction extends AccountOnChain {
  /** 64 hex digits. */
  readonly transactionId: string;
}

export const mismatch = (detail: string) => new AppError("TransactionMismatch", { detail });
export const pending = () => new AppError("TransactionPending", { retryAfterSeconds: 1 });

/**
 * Returns what a transaction did that a client names, once it is sealed, with its chain and the account's
 * address there.
 * Errors: TransactionPending (it may still come), TransactionMismatch, AccountNotFound, AccountNotReady,
 * UnknownChain.
 */
export async function sealedTransaction(
  { accounts, chains, firstAskedAt }: NamedTransactionOptions,
  { accountId, chainName, transactionId }: NamedTransaction,
  signal: AbortSignal,
) {
  const chain = chainNamed(chains, chainName);
  const address = await cadenceAddressOf(accounts, accountId, chainName);
  const { status, ...outcome } = await chain.keyAdditionOutcome(transactionId, signal);
  if (status === "unknown") throw await unknownTransaction(chain, transactionId, firstAskedAt, signal);
  if (status === "pending") throw pending();
  if (status === "expired") throw mismatch("the transaction expired before a block took it");
  if (status !== "sealed") throw mismatch("the transaction failed");
  return { chain, address, ...outcome };
}

/**
 * Returns the error for a transaction that the chain does not know. A client names a transaction when it has
 * submitted it, so its reference block is not younger than the first question about it: once the chain has
 * gone on for longer than a reference block lives, no block can take it any more.
 */
async function unknownTransaction(
  chain: KeyAdditionChain,
  transactionId: string,
  firstAskedAt: FirstAskedAt,
  signal: AbortSignal,
): Promise<AppError> {
  const { height } = await chain.latestBlock(signal);
  const mayCome = height - firstAskedAt(chain.chainName, transactionId, height) <= chain.maxReferenceAge;
  return mayCome ? pending() : mismatch("The chain does not know this transaction");
}
