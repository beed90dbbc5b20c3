import { TRANSACTION_TAG } from "@countersign/flow";
import { chain } from "../support/person.ts";

/** An RLP item; `raw` bytes are inserted unchanged. */
export type Item = Uint8Array | readonly Item[] | { raw: Uint8Array };

export const bytes = (hex: string): Buffer => Buffer.from(hex, "hex");
export const utf8 = (text: string): Buffer => Buffer.from(text, "utf8");
export const raw = (hex: string): Item => ({ raw: bytes(hex) });

/** Returns the minimal big-endian bytes of an integer: none for zero. */
export function integer(value: bigint | number): Buffer {
  const hex = BigInt(value).toString(16);
  return value === 0 || value === 0n ? Buffer.alloc(0) : bytes(hex.length % 2 ? `0${hex}` : hex);
}

function header(length: number, offset: number): Buffer {
  if (length < 56) return Buffer.of(offset + length);
  const digits = integer(length);
  return Buffer.concat([Buffer.of(offset + 55 + digits.length), digits]);
}

/** Encodes an item in RLP. The tests have their own encoder so that they can also encode wrongly. */
export function rlp(item: Item): Buffer {
  if (item instanceof Uint8Array) {
    if (item.length === 1 && item[0]! < 0x80) return Buffer.from(item);
    return Buffer.concat([header(item.length, 0x80), item]);
  }
  if ("raw" in item) return Buffer.from(item.raw);
  const body = Buffer.concat(item.map(rlp));
  return Buffer.concat([header(body.length, 0xc0), body]);
}

export const tagged = (item: Item, tag: Uint8Array = TRANSACTION_TAG): Buffer => Buffer.concat([tag, rlp(item)]);

/** A transaction's fields, as RLP items. */
export interface Fields {
  script: Item;
  arguments: Item;
  block: Item;
  gas: Item;
  proposer: Item;
  proposerKey: Item;
  sequence: Item;
  payer: Item;
  authorizers: Item;
}

export const paymaster = bytes(chain.paymaster.replace("0x", ""));
export const creator = bytes(chain.creator.replace("0x", ""));

/** Returns the fields in their order, all valid except the changed ones. */
export function payload(account: string, block: string, change: Partial<Fields> = {}): Item[] {
  const fields: Fields = {
    script: utf8("transaction { prepare(a: &Account) {} }"),
    arguments: [],
    block: bytes(block),
    gas: integer(999),
    proposer: bytes(account),
    proposerKey: integer(1),
    sequence: integer(0),
    payer: paymaster,
    authorizers: [bytes(account)],
    ...change,
  };
  return Object.values(fields);
}

/** Encodes bytes in the long form of RLP where the short form is required. */
export const longForm = (value: Uint8Array): Item => ({
  raw: Buffer.concat([Buffer.of(0xb8, value.length), value]),
});

/** Encodes bytes with a length of two bytes whose first is zero. */
export const paddedLength = (value: Uint8Array): Item => ({
  raw: Buffer.concat([Buffer.of(0xb9, 0, value.length), value]),
});

/** Returns a domain tag, padded to 32 bytes. */
export const tagOf = (text: string): Buffer => Buffer.concat([utf8(text), Buffer.alloc(Math.max(0, 32 - text.length))]);
