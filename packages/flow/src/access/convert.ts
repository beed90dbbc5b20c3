import { hexToBytes } from "@countersign/keys";
import { readCadence } from "../codec/cadence-json.ts";
import type { TransactionSignature } from "../codec/transaction.ts";
import type { Block, ChainEvent, ChainKey, ChainTransaction } from "./resources.ts";
import * as wire from "./wire.ts";

const base64 = (bytes: Uint8Array): string => {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
};
/** Returns the base64 of a text in UTF-8, as requests carry scripts and arguments. */
export const utf8 = (text: string): string => base64(new TextEncoder().encode(text));
export const fromBase64 = (text: string): string => {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  // A loop, not Uint8Array.from: the events of a creation are half a megabyte, and mapping an iterable takes
  // ten times as long.
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return new TextDecoder().decode(bytes);
};

export const signatureBody = (entry: TransactionSignature) => ({
  address: entry.address,
  key_index: String(entry.keyId),
  signature: base64(hexToBytes(entry.signature)),
  ...(entry.extensionData ? { extension_data: base64(hexToBytes(entry.extensionData)) } : {}),
});

export const readEvent = (event: wire.WireEvent): ChainEvent => ({
  type: event.type,
  transactionId: event.transaction_id,
  index: Number(event.event_index),
  fields: readCadence(JSON.parse(fromBase64(event.payload))) as Record<string, unknown>,
});

export const readTransaction = ({ script, payer, authorizers, ...rest }: wire.WireTransaction): ChainTransaction => {
  const { address, key_index, sequence_number } = rest.proposal_key;
  return {
    script: fromBase64(script),
    arguments: rest.arguments.map(fromBase64),
    proposalKey: { address, keyId: Number(key_index), sequenceNumber: BigInt(sequence_number) },
    payer,
    authorizers,
  };
};

export function readBlock(body: unknown): Block {
  const [{ header }] = wire.blocks(body);
  return { id: header.id, height: BigInt(header.height), time: new Date(header.timestamp) };
}

export const readKey = (key: wire.WireKey): ChainKey => ({
  index: Number(key.index),
  publicKey: key.public_key.replace(/^0x/, ""),
  signatureAlgorithm: key.signing_algorithm,
  hashAlgorithm: key.hashing_algorithm,
  weight: Number(key.weight),
  sequenceNumber: BigInt(key.sequence_number),
  revoked: key.revoked,
});
