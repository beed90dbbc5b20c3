import { bytesToHex, decodeUtf8 } from "@countersign/keys";
import { decodeRlp, RlpError, type RlpItem } from "./rlp.ts";
import { signerList, TRANSACTION_TAG, type TransactionPayload, type TransactionSignature } from "./transaction.ts";

/**
 * Thrown when the bytes are not a signable Flow transaction message.
 * @example
 * const isSignable = (message: Uint8Array) => {
 *   try {
 *     return decodeMessage(message).gasLimit > 0n;
 *   } catch (error) {
 *     if (error instanceof InvalidMessageError) return false;
 *     throw error;
 *   }
 * };
 * isSignable(new Uint8Array(3)); // => false
 */
export class InvalidMessageError extends Error {
  override readonly name = "InvalidMessageError";
}

/** A signable message, taken apart: a payload, or an envelope with the signatures over its payload. */
export interface DecodedMessage extends TransactionPayload {
  /** Proposer and authorizers sign the payload, the payer signs the envelope. */
  readonly kind: "payload" | "envelope";
  /** Empty for a payload. */
  readonly payloadSignatures: readonly TransactionSignature[];
}

/**
 * Messages above this are refused unread; the chain takes 1.5 MB, a co-signer needs far less.
 * @example payloadMessage(transaction).length <= MAX_MESSAGE_BYTES; // => true
 */
export const MAX_MESSAGE_BYTES = 256 * 1024;
const MAX_KEY_ID = 0xffff_ffffn;
const MAX_EXTENSION_BYTES = 4096;

function refuse(what: string): never {
  throw new InvalidMessageError(what);
}

const bytesOf = (item: RlpItem | undefined, what: string): Uint8Array =>
  item instanceof Uint8Array ? item : refuse(`${what} is not bytes`);

const listOf = (item: RlpItem | undefined, what: string): readonly RlpItem[] =>
  Array.isArray(item) ? item : refuse(`${what} is not a list`);

function fixed(item: RlpItem | undefined, length: number, what: string): string {
  const bytes = bytesOf(item, what);
  if (bytes.length !== length) refuse(`${what} has not ${length} bytes`);
  return bytesToHex(bytes);
}

function integer(item: RlpItem | undefined, what: string): bigint {
  const bytes = bytesOf(item, what);
  if (bytes.length > 8) refuse(`${what} is too large`);
  if (bytes[0] === 0) refuse(`${what} has leading zeros`);
  return bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
}

function keyId(item: RlpItem | undefined, what: string): number {
  const value = integer(item, what);
  return value > MAX_KEY_ID ? refuse(`${what} is too large`) : Number(value);
}

function text(item: RlpItem | undefined, what: string): string {
  try {
    return decodeUtf8(bytesOf(item, what));
  } catch (error) {
    if (error instanceof InvalidMessageError) throw error;
    return refuse(`${what} is not UTF-8`);
  }
}

function argument(item: RlpItem): string {
  const json = text(item, "an argument");
  try {
    JSON.parse(json);
  } catch {
    refuse("an argument is not JSON");
  }
  return json;
}

function decodePayload(item: RlpItem): TransactionPayload {
  const fields = listOf(item, "the payload");
  if (fields.length !== 9) refuse("a payload has nine fields");
  const [script, args, block, gas, proposer, proposerKey, sequence, payer, authorizers] = fields;
  const authorizerList = listOf(authorizers, "authorizers").map((entry) => fixed(entry, 8, "an authorizer"));
  if (new Set(authorizerList).size !== authorizerList.length) refuse("an authorizer is named twice");
  return {
    script: text(script, "the script"),
    arguments: listOf(args, "arguments").map(argument),
    referenceBlockId: fixed(block, 32, "the reference block"),
    gasLimit: integer(gas, "the gas limit"),
    proposalKey: {
      address: fixed(proposer, 8, "the proposer"),
      keyId: keyId(proposerKey, "the proposal key"),
      sequenceNumber: integer(sequence, "the sequence number"),
    },
    payer: fixed(payer, 8, "the payer"),
    authorizers: authorizerList,
  };
}

function decodeSignatures(item: RlpItem | undefined, payload: TransactionPayload): TransactionSignature[] {
  const signers = signerList(payload);
  let previous = [-1, -1] as [number, number];
  return listOf(item, "payload signatures").map((entry) => {
    const fields = listOf(entry, "a signature");
    if (fields.length !== 3 && fields.length !== 4) refuse("a signature has three or four fields");
    const index = keyId(fields[0], "a signer index");
    const key = keyId(fields[1], "a key index");
    const address = signers[index] ?? refuse("a signer index is out of range");
    // Sorted and without a double: every set of signatures has one spelling.
    if (index < previous[0] || (index === previous[0] && key <= previous[1])) refuse("signatures are not in order");
    previous = [index, key];
    const signature = fixed(fields[2], 64, "a signature");
    if (fields.length === 3) return { address, keyId: key, signature };
    const extension = bytesOf(fields[3], "extension data");
    if (extension.length === 0 || extension.length > MAX_EXTENSION_BYTES) refuse("extension data of a bad length");
    return { address, keyId: key, signature, extensionData: bytesToHex(extension) };
  });
}

/**
 * Decodes a signable message: domain tag, then canonical RLP of a payload or of an envelope `[payload,
 * signatures]`, and nothing after it. Throws InvalidMessageError for everything else.
 * @example const { kind, script, authorizers } = decodeMessage(payloadMessage(transaction));
 */
export function decodeMessage(message: Uint8Array): DecodedMessage {
  if (message.length > MAX_MESSAGE_BYTES) refuse("the message is too large");
  if (message.length <= TRANSACTION_TAG.length || TRANSACTION_TAG.some((byte, i) => message[i] !== byte)) {
    refuse("not the domain tag of a transaction");
  }
  let top: readonly RlpItem[];
  try {
    top = listOf(decodeRlp(message.subarray(TRANSACTION_TAG.length)), "the message");
  } catch (error) {
    if (error instanceof RlpError) refuse(`not canonical RLP: ${error.message}`);
    throw error;
  }
  // A payload begins with the script's bytes, an envelope with the payload's list.
  const [first, second] = top;
  if (first instanceof Uint8Array || first === undefined) {
    return { kind: "payload", ...decodePayload(top), payloadSignatures: [] };
  }
  if (top.length !== 2) refuse("an envelope has two fields");
  const payload = decodePayload(first);
  return { kind: "envelope", ...payload, payloadSignatures: decodeSignatures(second, payload) };
}
