import { TRANSACTION_TAG } from "@countersign/flow";
import { chain } from "../e2e/person.ts";

/** An RLP item; `raw` bytes are put in as they are, whatever they are. */
export type Item = Uint8Array | readonly Item[] | { raw: Uint8Array };

export const bytes = (hex: string): Buffer => Buffer.from(hex, "hex");
export const utf8 = (text: string): Buffer => Buffer.from(text, "utf8");
export const raw = (hex: string): Item => ({ raw: bytes(hex) });

/** Minimal big-endian bytes; zero has none. */
export function integer(value: bigint | number): Buffer {
  const hex = BigInt(value).toString(16);
  return value === 0 || value === 0n ? Buffer.alloc(0) : bytes(hex.length % 2 ? `0${hex}` : hex);
}

function header(length: number, offset: number): Buffer {
  if (length < 56) return Buffer.of(offset + length);
  const digits = integer(length);
  return Buffer.concat([Buffer.of(offset + 55 + digits.length), digits]);
}

/** RLP, written here once more so that it can also be written wrongly. */
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

/** The fields in their order, all good but for what is changed. */
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

/** Bytes in the long form of RLP, where the short one would do. */
export const longForm = (value: Uint8Array): Item => ({
  raw: Buffer.concat([Buffer.of(0xb8, value.length), value]),
});

/** Bytes with a length of two bytes, the first of them zero. */
export const paddedLength = (value: Uint8Array): Item => ({
  raw: Buffer.concat([Buffer.of(0xb9, 0, value.length), value]),
});

/** A domain tag, padded to 32 bytes. */
export const tagOf = (text: string): Buffer => Buffer.concat([utf8(text), Buffer.alloc(Math.max(0, 32 - text.length))]);
