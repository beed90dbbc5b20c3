import { AppError } from "@countersign/core";
import { LRUCache } from "lru-cache";
import type { KeyAdditionChain } from "./key-additions/key-addition.ts";

/** Ids that one process remembers; the wait of a forgotten one starts again. */
const MAX_REMEMBERED = 10_000;

/** Returns the error for a transaction that the chain does not know. */
export type UnknownTransaction = (
  chain: Pick<KeyAdditionChain, "chainName" | "latestBlock" | "maxReferenceAge">,
  transactionId: string,
  signal: AbortSignal,
) => Promise<AppError>;

/**
 * Distinguishes a transaction that may still come from one that never will. A client names a transaction when
 * it has submitted it, so its reference block is not younger than the first question about it: once the chain
 * has gone on for longer than a reference block lives, no block can take it any more. The heights are kept in
 * memory, since forgetting them only makes a client wait longer.
 */
export function createUnknownTransactions(maxRemembered = MAX_REMEMBERED): UnknownTransaction {
  const firstAsked = new LRUCache<string, bigint>({ max: maxRemembered });
  return async (chain, transactionId, signal) => {
    const { height } = await chain.latestBlock(signal);
    const name = `${chain.chainName}/${transactionId}`;
    const since = firstAsked.get(name);
    if (since === undefined) {
      firstAsked.set(name, height);
    } else if (height - since > chain.maxReferenceAge) {
      return new AppError("TransactionMismatch", { detail: "The chain does not know this transaction" });
    }
    return new AppError("TransactionPending", { retryAfterSeconds: 1 });
  };
}
