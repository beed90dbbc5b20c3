// Reads the answers of the Access API, and writes the parts of requests. Answers are checked by hand: the
// package must run in a browser without a schema library.

import { decodeUtf8, hexToBytes } from "@countersign/keys";
import { readCadence } from "../codec/cadence-json.ts";
import type { TransactionSignature } from "../codec/transaction.ts";
import type { Block, ChainEvent, ChainKey, ChainTransaction, TransactionResult } from "./resources.ts";

type Fields = Record<string, unknown>;

function fail(what: string): never {
  throw new TypeError(`${what} is missing or of another type`);
}

export const object = (value: unknown, what: string): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : fail(what);
export const array = (value: unknown, what: string): unknown[] => (Array.isArray(value) ? value : fail(what));
export const string = (value: unknown, what: string): string => (typeof value === "string" ? value : fail(what));
/** Of a height, a sequence number or an amount: all FLOW has 18 digits, and databases take at most 19. */
const digits = (value: unknown, what: string): string =>
  /^\d{1,18}$/.test(string(value, what)) ? (value as string) : fail(what);
/** An index, a weight or a code. */
export const smallNumber = (value: unknown, what: string): number =>
  /^\d{1,9}$/.test(string(value, what)) ? Number(value) : fail(what);
const id = (value: unknown, what: string): string =>
  /^[0-9a-f]{64}$/.test(string(value, what)) ? (value as string) : fail(what);
export const address = (value: unknown, what: string): string => {
  const hex = string(value, what).replace(/^0x/, "");
  return /^[0-9a-f]{16}$/.test(hex) ? hex : fail(what);
};

const base64 = (bytes: Uint8Array): string => {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
};

/** Returns the base64 of a text in UTF-8, as requests carry scripts and arguments. */
export const utf8 = (text: string): string => base64(new TextEncoder().encode(text));

const fromBase64 = (text: string): string => {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  // A loop, not Uint8Array.from: mapping an iterable takes ten times as long.
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return decodeUtf8(bytes);
};

/** Text of a transaction. The chain executes what is no UTF-8, too: bytes above 127 are U+FFFD then. */
function textFromBase64(text: string): string {
  try {
    return fromBase64(text);
  } catch {
    return atob(text).replace(/[\x80-\xff]/g, "\ufffd");
  }
}

export const signatureBody = (entry: TransactionSignature) => ({
  address: entry.address,
  key_index: String(entry.keyId),
  signature: base64(hexToBytes(entry.signature)),
  ...(entry.extensionData ? { extension_data: base64(hexToBytes(entry.extensionData)) } : {}),
});

/** The result of a script. */
export const readScriptResult = (body: unknown): unknown =>
  readCadence(JSON.parse(fromBase64(string(body, "the answer"))));

/** The first block of the answer. */
export function readBlock(body: unknown): Block {
  const header = object(object(array(body, "blocks")[0], "block").header, "header");
  const time = new Date(string(header.timestamp, "timestamp"));
  if (Number.isNaN(time.getTime())) fail("timestamp");
  return { id: id(header.id, "id"), height: BigInt(digits(header.height, "height")), time };
}

/** The ids of the collections of the answer's first block. */
export function readCollections(body: unknown): string[] {
  const payload = object(object(array(body, "blocks")[0], "block").payload, "payload");
  return array(payload.collection_guarantees ?? [], "collection_guarantees").map((each) =>
    id(object(each, "guarantee").collection_id, "collection_id"),
  );
}

/** The ids of the transactions of a collection, which links to each of them. */
export const readTransactionIds = (body: unknown): string[] =>
  array(object(object(body, "collection")._expandable, "_expandable").transactions, "transactions").map((link) =>
    id(string(link, "transaction").slice(-64), "transaction"),
  );

export function readKey(body: unknown): ChainKey {
  const key = object(body, "key");
  return {
    index: smallNumber(key.index, "index"),
    publicKey: string(key.public_key, "public_key").replace(/^0x/, ""),
    signatureAlgorithm: string(key.signing_algorithm, "signing_algorithm"),
    hashAlgorithm: string(key.hashing_algorithm, "hashing_algorithm"),
    weight: smallNumber(key.weight, "weight"),
    sequenceNumber: BigInt(digits(key.sequence_number, "sequence_number")),
    revoked: key.revoked === true,
  };
}

/** The keys of an account. */
export const readKeys = (body: unknown): ChainKey[] => array(object(body, "account").keys ?? [], "keys").map(readKey);

/** The balance of an account, in 10⁻⁸ FLOW. */
export const readBalance = (body: unknown): bigint => BigInt(digits(object(body, "account").balance, "balance"));

/** The id of a submitted transaction. */
export const readSubmitted = (body: unknown): string => id(object(body, "transaction").id, "id");

function readEvent(value: unknown): ChainEvent {
  const event = object(value, "event");
  return {
    type: string(event.type, "type"),
    transactionId: id(event.transaction_id, "transaction_id"),
    index: smallNumber(event.event_index, "event_index"),
    fields: readCadence(JSON.parse(fromBase64(string(event.payload, "payload")))) as Record<string, unknown>,
  };
}

/**
 * Undefined where the node does not know the transaction: the emulator answers so. Of the events those of
 * `types`, or all.
 */
export function readResult(body: unknown, types?: readonly string[]): TransactionResult | undefined {
  const result = object(body, "result");
  const status = string(result.status ?? "", "status");
  if (status === "" || status === "Unknown") return undefined;
  return {
    status: status as TransactionResult["status"],
    statusCode: typeof result.status_code === "number" ? result.status_code : fail("status_code"),
    // Databases store no NUL: what cannot be recorded would be tried for ever.
    errorMessage: string(result.error_message ?? "", "error_message").replaceAll("\0", "\ufffd"),
    blockId: string(result.block_id ?? "", "block_id"),
    events: array(result.events ?? [], "events")
      .filter((event) => types?.includes(string(object(event, "event").type, "type")) ?? true)
      .map(readEvent),
  };
}

export function readTransaction(body: unknown): ChainTransaction {
  const transaction = object(body, "transaction");
  const proposal = object(transaction.proposal_key, "proposal_key");
  return {
    script: textFromBase64(string(transaction.script, "script")),
    arguments: array(transaction.arguments ?? [], "arguments").map((each) => textFromBase64(string(each, "argument"))),
    proposalKey: {
      address: address(proposal.address, "proposal_key.address"),
      keyId: smallNumber(proposal.key_index, "key_index"),
      sequenceNumber: BigInt(digits(proposal.sequence_number, "sequence_number")),
    },
    payer: address(transaction.payer, "payer"),
    authorizers: array(transaction.authorizers ?? [], "authorizers").map((each) => address(each, "authorizer")),
  };
}

/** Events of several blocks, each with the height of its block, and the height of the last block. */
export function readEvents(body: unknown): { events: ChainEvent[]; last: bigint } {
  let last = -1n;
  const events = array(body, "blocks").flatMap((each) => {
    const block = object(each, "block");
    const height = BigInt(digits(block.block_height, "block_height"));
    if (height > last) last = height;
    return array(block.events ?? [], "events").map((event) => ({ ...readEvent(event), height }));
  });
  return { events, last };
}
