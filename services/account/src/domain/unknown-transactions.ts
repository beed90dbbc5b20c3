import { AppError } from "@countersign/core";
import type { KeyAdditionChain } from "./key-additions/key-addition.ts";

/**
 * Returns the height of the chain when the transaction was first asked about. Where it was not, or that was
 * forgotten, it is `height` from now on.
 */
export type FirstAskedAt = (chainName: string, transactionId: string, height: bigint) => bigint;

/** Returns the error for a transaction that the chain does not know. */
export type UnknownTransaction = (
  chain: Pick<KeyAdditionChain, "chainName" | "latestBlock" | "maxReferenceAge">,
  transactionId: string,
  signal: AbortSignal,
) => Promise<AppError>;

/**
 * Distinguishes a transaction that may still come from one that never will. A client names a transaction when
 * it has submitted it, so its reference block is not younger than the first question about it: once the chain
 * has gone on for longer than a reference block lives, no block can take it any more.
 */
export const unknownTransactions =
  (firstAskedAt: FirstAskedAt): UnknownTransaction =>
  async (chain, transactionId, signal) => {
    const { height } = await chain.latestBlock(signal);
    if (height - firstAskedAt(chain.chainName, transactionId, height) > chain.maxReferenceAge)
      return new AppError("TransactionMismatch", { detail: "The chain does not know this transaction" });
    return new AppError("TransactionPending", { retryAfterSeconds: 1 });
  };
