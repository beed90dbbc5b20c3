import { bytesToHex, hexToBytes } from "@countersign/keys";
import { sha3_256 } from "@noble/hashes/sha3.js";
import { encodeInteger, encodeRlp, type RlpItem } from "./rlp.ts";

/** The proposer's key, with the sequence number that the transaction consumes. */
export interface ProposalKey {
  /** 16 hex digits. */
  readonly address: string;
  /** The key's index in its account. */
  readonly keyId: number;
  /** The chain refuses every other number than the next one. */
  readonly sequenceNumber: bigint;
}

/** A signature of one account key. */
export interface TransactionSignature {
  /** 16 hex digits. */
  readonly address: string;
  /** The key's index in its account. */
  readonly keyId: number;
  /** Raw r||s, 128 hex digits. */
  readonly signature: string;
  /** FLIP 264: scheme byte and scheme data, hex; absent for a plain signature. */
  readonly extensionData?: string;
}

/** The payload of a Flow transaction, which proposer and authorizers sign. */
export interface TransactionPayload {
  /** The Cadence text. */
  readonly script: string;
  /** Arguments in JSON-Cadence, each the exact text that goes on chain. */
  readonly arguments: readonly string[];
  /** Block id, 64 hex digits. */
  readonly referenceBlockId: string;
  /** The most computation that the transaction may use. */
  readonly gasLimit: bigint;
  /** The key whose sequence number the transaction consumes. */
  readonly proposalKey: ProposalKey;
  /** 16 hex digits. */
  readonly payer: string;
  /** 16 hex digits each, in the order of `prepare`. */
  readonly authorizers: readonly string[];
}

/** A payload with what was signed over it. */
export interface FlowTransaction extends TransactionPayload {
  /** Of proposer and authorizers. */
  readonly payloadSignatures: readonly TransactionSignature[];
  /** Of the payer. */
  readonly envelopeSignatures: readonly TransactionSignature[];
}

/** Returns a domain tag of Flow: its text in 32 bytes, with zeros at the end. */
export function domainTag(text: string): Uint8Array {
  const tag = new Uint8Array(32);
  tag.set(new TextEncoder().encode(text));
  return tag;
}

/**
 * The 32 bytes before every signed transaction: "FLOW-V0.0-transaction", right-padded with zeros.
 * @example new TextDecoder().decode(TRANSACTION_TAG).startsWith("FLOW-V0.0-transaction"); // => true
 */
export const TRANSACTION_TAG: Uint8Array = domainTag("FLOW-V0.0-transaction");

const utf8 = new TextEncoder();

const payloadItem = (tx: TransactionPayload): RlpItem => [
  utf8.encode(tx.script),
  tx.arguments.map((argument) => utf8.encode(argument)),
  hexToBytes(tx.referenceBlockId),
  encodeInteger(tx.gasLimit),
  hexToBytes(tx.proposalKey.address),
  encodeInteger(tx.proposalKey.keyId),
  encodeInteger(tx.proposalKey.sequenceNumber),
  hexToBytes(tx.payer),
  tx.authorizers.map(hexToBytes),
];

/**
 * Returns proposer, payer and authorizers, each once, in the order that signer indexes count.
 * @example signerList(transaction).indexOf(transaction.payer); // => 1
 */
export const signerList = (tx: TransactionPayload): string[] => [
  ...new Set([tx.proposalKey.address, tx.payer, ...tx.authorizers]),
];

function signatureItems(tx: TransactionPayload, signatures: readonly TransactionSignature[]): RlpItem {
  const signers = signerList(tx);
  return signatures
    .map((entry) => ({ ...entry, index: signers.indexOf(entry.address) }))
    .sort((a, b) => a.index - b.index || a.keyId - b.keyId)
    .map(({ address, index, keyId, signature, extensionData }) => {
      if (index < 0) throw new TypeError(`${address} is no signer of this transaction`);
      const item = [encodeInteger(index), encodeInteger(keyId), hexToBytes(signature)];
      return extensionData ? [...item, hexToBytes(extensionData)] : item;
    });
}

/**
 * Returns the bytes that proposer and authorizers sign: tag and RLP of the payload.
 * @example const signature = await deviceKey.sign(payloadMessage(transaction));
 */
export const payloadMessage = (tx: TransactionPayload): Uint8Array => encodeRlp(payloadItem(tx), TRANSACTION_TAG);

/**
 * Returns the bytes that the payer signs: tag and RLP of payload and payload signatures.
 * @example const signature = await deviceKey.sign(envelopeMessage(transaction));
 */
export const envelopeMessage = (tx: TransactionPayload & Pick<FlowTransaction, "payloadSignatures">): Uint8Array =>
  encodeRlp([payloadItem(tx), signatureItems(tx, tx.payloadSignatures)], TRANSACTION_TAG);

/**
 * Returns the transaction's id, 64 hex digits: SHA3-256 of payload and both lists of signatures.
 * @example transactionId(transaction).length; // => 64
 */
export const transactionId = (tx: FlowTransaction): string =>
  bytesToHex(
    sha3_256(
      encodeRlp([payloadItem(tx), signatureItems(tx, tx.payloadSignatures), signatureItems(tx, tx.envelopeSignatures)]),
    ),
  );
