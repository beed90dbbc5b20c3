import { AppError, chainNamed } from "@countersign/core";
import { cadenceAddressOf } from "../accounts/account-on-chain.ts";
import type { AccountOnChain } from "../ports.ts";
import type { UnknownTransaction } from "../unknown-transactions.ts";
import type { AccountsOnChains } from "./key-addition.ts";

export interface NamedTransactionOptions extends AccountsOnChains {
  readonly unknownTransaction: UnknownTransaction;
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
  { accounts, chains, unknownTransaction }: NamedTransactionOptions,
  { accountId, chainName, transactionId }: NamedTransaction,
  signal: AbortSignal,
) {
  const chain = chainNamed(chains, chainName);
  const address = await cadenceAddressOf(accounts, accountId, chainName);
  const { status, ...outcome } = await chain.keyAdditionOutcome(transactionId, signal);
  if (status === "unknown") throw await unknownTransaction(chain, transactionId, signal);
  if (status === "pending") throw pending();
  if (status === "expired") throw mismatch("the transaction expired before a block took it");
  if (status !== "sealed") throw mismatch("the transaction failed");
  return { chain, address, ...outcome };
}
