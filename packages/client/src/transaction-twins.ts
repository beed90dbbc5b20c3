import { type FlowTransaction, transactionId } from "@countersign/flow";

/** Orders of the curves' groups: P-256 and secp256k1. */
const ORDERS = [
  0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n,
];

/**
 * Returns the ids that a transaction has when somebody without any key turns its payer's signature (r, s)
 * into (r, n − s), which the chain accepts too. Payload signatures have no such twin: the payer has signed
 * their bytes.
 * @example const mayHaveRunAs = [transactionId(transaction), ...twinIds(transaction)];
 */
export function twinIds(transaction: FlowTransaction): string[] {
  return ORDERS.flatMap((order) => {
    const envelopeSignatures = transaction.envelopeSignatures.map((entry) => {
      const [r, s] = [entry.signature.slice(0, 64), BigInt(`0x${entry.signature.slice(64)}`)];
      return s < order ? { ...entry, signature: r + (order - s).toString(16).padStart(64, "0") } : undefined;
    });
    return envelopeSignatures.every((entry) => entry !== undefined)
      ? [transactionId({ ...transaction, envelopeSignatures })]
      : [];
  });
}
