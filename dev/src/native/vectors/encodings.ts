import { createHash } from "node:crypto";
import {
  type CadenceValue,
  cadenceAddress,
  cadenceArray,
  cadenceBool,
  cadenceInt,
  cadenceString,
  cadenceUFix64,
  encodeCadence,
  encodeRlp,
  type RlpItem,
} from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { ADDRESS, utf8 } from "./test-keys.ts";

/** Returns an item of RLP with its bytes in hex, as JSON has it. */
type Hex = string | Hex[];
const hexItem = (item: RlpItem): Hex => (item instanceof Uint8Array ? bytesToHex(item) : item.map(hexItem));

const RLP_ITEMS: RlpItem[] = [
  new Uint8Array(),
  Uint8Array.of(0),
  Uint8Array.of(0x7f),
  Uint8Array.of(0x80),
  utf8("dog"),
  new Uint8Array(55).fill(1),
  new Uint8Array(56).fill(1),
  new Uint8Array(256).fill(2),
  [],
  [utf8("cat"), utf8("dog")],
  [[], [[]], [[], [[]]]],
  Array.from({ length: 30 }, () => utf8("ab")),
];

const REFUSED_RLP: [hex: string, why: string][] = [
  ["", "an item is missing"],
  ["8101", "a small byte with a header"],
  ["b800", "a short length in the long form"],
  ["b90038", "a length with a leading zero"],
  ["83646f", "an item runs out of the message"],
  ["c283", "an item runs out of its list"],
  ["0101", "bytes after the item"],
  ["bc0000000001", "a length of more than four bytes"],
  ["c8c7c6c5c4c3c2c1c0", "lists nest too deep"],
];

const CADENCE: CadenceValue[] = [
  cadenceString("hello"),
  cadenceString('a "quote", a \\ and a line\nwith a tab\t'),
  cadenceString("\u0000\u0001\u001f\u007f\u2028\u2029 é 🦊 </script>"),
  cadenceBool(true),
  cadenceBool(false),
  cadenceAddress(ADDRESS),
  cadenceUFix64("1.50000000"),
  cadenceInt(10n ** 30n),
  cadenceArray([cadenceString("Ada"), cadenceArray([])]),
];

/** A block of SHA3-256 has 136 bytes; padding differs around its end. */
const SHA3_LENGTHS = [0, 1, 134, 135, 136, 137, 271, 272, 273, 1000];
const sha3 = (bytes: Uint8Array) => createHash("sha3-256").update(bytes).digest("hex");
const counted = (length: number) => Uint8Array.from({ length }, (_, i) => (i * 7) % 256);

/** Returns the vectors of RLP, of Cadence's JSON, and of SHA3-256 over bytes that grow by 7 each. */
export const encodingVectors = () => ({
  rlp: RLP_ITEMS.map((item) => ({ item: hexItem(item), bytes: bytesToHex(encodeRlp(item)) })),
  refusedRlp: REFUSED_RLP.map(([bytes, why]) => ({ bytes, why })),
  cadence: CADENCE.map((value) => ({ value, json: encodeCadence(value) })),
  sha3: SHA3_LENGTHS.map((length) => ({ length, digest: sha3(counted(length)) })),
});
