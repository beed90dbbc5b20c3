import type { KeyObject } from "node:crypto";
import { bytesToHex } from "@countersign/keys";
import { type SignatureHash, signMessage } from "@countersign/keys/node";
import { envelopeMessage, type FlowTransaction, payloadMessage } from "./codec/transaction.ts";

export { verifyUserSignature } from "./verify-user-signature.ts";

/** A private key and its place on chain. */
export interface ChainSigner {
  /** 16 hex digits. */
  readonly address: string;
  /** The key's index in its account. */
  readonly keyId: number;
  /** The private key, for node:crypto. */
  readonly privateKey: KeyObject;
  /** The hash that the key was registered with. */
  readonly hash: SignatureHash;
}

const signatureOf = ({ address, keyId, privateKey, hash }: ChainSigner, message: Uint8Array) => ({
  address,
  keyId,
  signature: bytesToHex(signMessage(privateKey, message, hash)),
});

/**
 * Returns the transaction with one more signature over its payload.
 * @example
 * const { privateKey } = generateKeyPair();
 * const signed = withPayloadSignature(transaction, { address, keyId: 1, privateKey, hash: "sha256" });
 */
export const withPayloadSignature = (tx: FlowTransaction, signer: ChainSigner): FlowTransaction => ({
  ...tx,
  payloadSignatures: [...tx.payloadSignatures, signatureOf(signer, payloadMessage(tx))],
});

/**
 * Returns the transaction with one more signature over its envelope.
 * @example
 * const { privateKey } = generateKeyPair();
 * const paid = withEnvelopeSignature(transaction, { address, keyId: 0, privateKey, hash: "sha3-256" });
 */
export const withEnvelopeSignature = (tx: FlowTransaction, signer: ChainSigner): FlowTransaction => ({
  ...tx,
  envelopeSignatures: [...tx.envelopeSignatures, signatureOf(signer, envelopeMessage(tx))],
});
