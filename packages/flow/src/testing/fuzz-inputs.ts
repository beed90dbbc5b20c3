import { concatBytes, encodeInteger, encodeRlp, type RlpItem } from "../codec/rlp.ts";
import { TRANSACTION_TAG } from "../codec/transaction.ts";

/** Numbers that look random and depend on the seed alone (xorshift32): fast enough for a million messages. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0 || 1;
    for (let i = 0; i < 8; i++) this.below(2);
  }

  /** An integer from 0 to `limit` - 1. */
  below(limit: number): number {
    let state = this.#state;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#state = state;
    return (state >>> 0) % limit;
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let i = 0; i < length; i++) bytes[i] = this.below(256);
    return bytes;
  }

  of<T>(all: readonly T[]): T {
    return all[this.below(all.length)]!;
  }
}

const withTag = (body: Uint8Array): Uint8Array => concatBytes(TRANSACTION_TAG, body);

/** Lengths that the decoder looks for, and their neighbours. */
const lengths = [0, 0, 1, 1, 2, 4, 7, 8, 8, 8, 9, 31, 32, 32, 33, 55, 56, 63, 64, 64, 65];

function randomTree(random: Random, depth: number): RlpItem {
  if (depth === 0 || random.below(3) > 0) return random.bytes(random.of(lengths));
  return Array.from({ length: random.below(10) }, () => randomTree(random, depth - 1));
}

/** Returns the tree with one item of it replaced, doubled or left out. */
function changedTree(random: Random, item: RlpItem): RlpItem {
  if (item instanceof Uint8Array || item.length === 0 || random.below(5) === 0) return randomTree(random, 3);
  const at = random.below(item.length);
  const items = [...item];
  const kind = random.below(8);
  if (kind === 0) items.splice(at, 1);
  else if (kind === 1) items.splice(at, 0, items[at]!);
  else if (kind === 2) items.push(randomTree(random, 2));
  else items[at] = changedTree(random, items[at]!);
  return items;
}

/**
 * Returns an encoding that other decoders accept for the same item: headers longer than necessary, with all
 * lengths around them right.
 */
function loosely(random: Random, item: RlpItem): Uint8Array {
  const bytes = item instanceof Uint8Array;
  const body = bytes ? item : concatBytes(...item.map((each) => loosely(random, each)));
  if (random.below(10) > 0) {
    if (bytes) return encodeRlp(item);
    if (body.length < 56) return concatBytes(Uint8Array.of(0xc0 + body.length), body);
  }
  const digits = encodeInteger(body.length);
  const zeros = new Uint8Array(random.below(3));
  if (bytes && body.length < 56 && random.below(2) === 0) return concatBytes(Uint8Array.of(0x80 + body.length), body);
  const first = (bytes ? 0xb7 : 0xf7) + Math.max(1, zeros.length + digits.length);
  return concatBytes(Uint8Array.of(first), zeros, digits.length + zeros.length > 0 ? digits : Uint8Array.of(0), body);
}

/** Changes of a message's bytes as a broken or malicious sender makes them. */
function changedBytes(random: Random, message: Uint8Array, other: Uint8Array): Uint8Array {
  const at = random.below(message.length);
  switch (random.below(6)) {
    case 0: {
      const changed = message.slice();
      changed[at] = random.below(256);
      return changed;
    }
    case 1:
      return concatBytes(message.subarray(0, at), message.subarray(at + 1 + random.below(4)));
    case 2:
      return concatBytes(message.subarray(0, at), random.bytes(1 + random.below(4)), message.subarray(at));
    case 3:
      return message.subarray(0, at);
    case 4: {
      const to = at + random.below(message.length - at);
      return concatBytes(message.subarray(0, to), message.subarray(at));
    }
    default:
      return concatBytes(message.subarray(0, at), other.subarray(random.below(other.length)));
  }
}

/** A message after the tag: the tree that it is made of. */
export interface ValidMessage {
  readonly bytes: Uint8Array;
  readonly tree: RlpItem;
}

/**
 * Returns one input of the fuzzer: noise, tagged noise, a random tree, a valid message with a changed tree or
 * with changed bytes.
 */
export function fuzzInput(random: Random, valid: readonly ValidMessage[]): Uint8Array {
  switch (random.below(9)) {
    case 0:
      return random.bytes(random.below(200));
    case 1:
      return withTag(random.bytes(1 + random.below(120)));
    case 2:
      // Headers of lists alone: what recursion would be made of.
      return withTag(Uint8Array.from({ length: 1 + random.below(600) }, () => 0xc0 + random.below(64)));
    case 3:
      return withTag(encodeRlp(randomTree(random, 6)));
    case 4:
    case 5: {
      let { tree } = random.of(valid);
      for (let changes = random.below(3); changes >= 0; changes--) tree = changedTree(random, tree);
      return withTag(encodeRlp(tree));
    }
    case 6:
      return withTag(loosely(random, random.of(valid).tree));
    default: {
      let { bytes } = random.of(valid);
      for (let changes = random.below(3); changes >= 0 && bytes.length > 0; changes--) {
        bytes = changedBytes(random, bytes, random.of(valid).bytes);
      }
      return bytes;
    }
  }
}
