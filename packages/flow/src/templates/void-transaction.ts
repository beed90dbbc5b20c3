import type { ProposalKey, TransactionPayload } from "../codec/transaction.ts";

const VOID_SCRIPT = "transaction {}";
/** The transaction computes nothing; the least that a node counts for any transaction is below this. */
const VOID_GAS = 100n;

/** Where a void transaction consumes a sequence number. */
export interface VoidPlace {
  /** A recent block's id, 64 hex digits. */
  readonly referenceBlockId: string;
  /** The server key with the sequence number that is used up. */
  readonly proposalKey: ProposalKey;
  /** 16 hex digits. */
  readonly payer: string;
}

/**
 * Returns the transaction that only uses up a sequence number: nobody authorizes it, and it does nothing.
 * @example
 * const { referenceBlockId, proposalKey, payer } = transaction;
 * const payload = voidPayload({ referenceBlockId, proposalKey, payer });
 */
export const voidPayload = ({ referenceBlockId, proposalKey, payer }: VoidPlace): TransactionPayload => ({
  script: VOID_SCRIPT,
  arguments: [],
  referenceBlockId,
  gasLimit: VOID_GAS,
  proposalKey,
  payer,
  authorizers: [],
});
