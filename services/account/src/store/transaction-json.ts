import type { FlowTransaction } from "@countersign/flow";

/** Returns a transaction as JSON: its integers as text. */
export const transactionToJson = (tx: FlowTransaction): object => ({
  ...tx,
  gasLimit: String(tx.gasLimit),
  proposalKey: { ...tx.proposalKey, sequenceNumber: String(tx.proposalKey.sequenceNumber) },
});

/** Returns the transaction that transactionToJson wrote. */
export function transactionFromJson(json: unknown): FlowTransaction {
  const tx = json as Omit<FlowTransaction, "gasLimit" | "proposalKey"> & {
    gasLimit: string;
    proposalKey: { address: string; keyId: number; sequenceNumber: string };
  };
  return {
    ...tx,
    gasLimit: BigInt(tx.gasLimit),
    proposalKey: { ...tx.proposalKey, sequenceNumber: BigInt(tx.proposalKey.sequenceNumber) },
  };
}
