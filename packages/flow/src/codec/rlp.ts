/** A decoded RLP item: bytes, or a list of items (Ethereum yellow paper, appendix B). */
export type RlpItem = Uint8Array | readonly RlpItem[];

/**
 * Thrown when the bytes are not canonical RLP.
 * @example
 * const isRlp = (bytes: Uint8Array) => {
 *   try {
 *     return decodeRlp(bytes) !== undefined;
 *   } catch (error) {
 *     if (error instanceof RlpError) return false;
 *     throw error;
 *   }
 * };
 * isRlp(Uint8Array.of(0x81, 0x01)); // => false
 */
export class RlpError extends Error {
  override readonly name = "RlpError";
}

/** Lists nest this deep at most: an envelope's signature lies at depth four. */
const MAX_DEPTH = 8;
/**
 * Each item costs as much as hundreds of bytes. A transaction has some twenty, besides its arguments, and
 * five for each signature.
 */
const MAX_ITEMS = 1_000;

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    all.set(part, offset);
    offset += part.length;
  }
  return all;
}

/** Returns the big-endian bytes of an integer without leading zeros; zero has none. */
export function encodeInteger(value: bigint | number): Uint8Array {
  if (value < 0) throw new RlpError("a negative integer");
  const bytes: number[] = [];
  if (value <= 0x7fff_ffff) {
    for (let rest = Number(value); rest > 0; rest >>>= 8) bytes.unshift(rest & 0xff);
    return Uint8Array.from(bytes);
  }
  let rest = BigInt(value);
  for (; rest > 0n; rest >>= 8n) bytes.unshift(Number(rest & 0xffn));
  return Uint8Array.from(bytes);
}

/** Returns the number of bytes that a length needs in the long form. */
const digitsOf = (length: number): number => (length < 0x100 ? 1 : length < 0x1_0000 ? 2 : length < 0x100_0000 ? 3 : 4);
const headerLength = (length: number): number => (length < 56 ? 1 : 1 + digitsOf(length));
const isSingleByte = (item: Uint8Array): boolean => item.length === 1 && item[0]! < 0x80;

function bodyLength(item: RlpItem): number {
  if (item instanceof Uint8Array) return item.length;
  let sum = 0;
  for (const child of item) sum += encodedLength(child);
  return sum;
}

function encodedLength(item: RlpItem): number {
  if (item instanceof Uint8Array && isSingleByte(item)) return 1;
  const body = bodyLength(item);
  return headerLength(body) + body;
}

function writeHeader(target: Uint8Array, offset: number, length: number, base: number): number {
  if (length < 56) {
    target[offset] = base + length;
    return offset + 1;
  }
  const digits = digitsOf(length);
  target[offset] = base + 55 + digits;
  for (let i = 0; i < digits; i++) target[offset + digits - i] = (length >>> (8 * i)) & 0xff;
  return offset + 1 + digits;
}

function write(target: Uint8Array, offset: number, item: RlpItem): number {
  if (item instanceof Uint8Array) {
    const start = isSingleByte(item) ? offset : writeHeader(target, offset, item.length, 0x80);
    target.set(item, start);
    return start + item.length;
  }
  let at = writeHeader(target, offset, bodyLength(item), 0xc0);
  for (const child of item) at = write(target, at, child);
  return at;
}

/**
 * Returns the canonical encoding of an item, behind `prefix`.
 * @example [...encodeRlp([Uint8Array.of(1), Uint8Array.of(2, 3)])]; // => [0xc4, 1, 0x82, 2, 3]
 */
export function encodeRlp(item: RlpItem, prefix?: Uint8Array): Uint8Array {
  const start = prefix?.length ?? 0;
  const bytes = new Uint8Array(start + encodedLength(item));
  if (prefix) bytes.set(prefix);
  write(bytes, start, item);
  return bytes;
}

/** Where an item's payload lies. */
interface Extent {
  readonly list: boolean;
  readonly start: number;
  readonly end: number;
}

function extentAt(bytes: Uint8Array, offset: number, limit: number): Extent {
  if (offset >= limit) throw new RlpError("an item is missing");
  const first = bytes[offset]!;
  if (first < 0x80) return { list: false, start: offset, end: offset + 1 };
  const list = first >= 0xc0;
  const short = first - (list ? 0xc0 : 0x80);
  let start = offset + 1;
  let length = short;
  if (short > 55) {
    const digits = short - 55;
    // Four bytes of length are gigabytes; more would only overflow.
    if (digits > 4 || start + digits > limit) throw new RlpError("a length runs out of the message");
    if (bytes[start] === 0) throw new RlpError("a length with a leading zero");
    length = 0;
    for (let i = 0; i < digits; i++) length = length * 256 + bytes[start + i]!;
    if (length < 56) throw new RlpError("a short length in the long form");
    start += digits;
  }
  const end = start + length;
  if (end > limit) throw new RlpError("an item runs out of the message");
  if (!list && length === 1 && short === 1 && bytes[start]! < 0x80) throw new RlpError("a small byte with a header");
  return { list, start, end };
}

/**
 * Decodes exactly one canonical item; bytes after it, a non-canonical encoding, or more than a thousand items
 * in all, throw RlpError.
 * @example decodeRlp(Uint8Array.of(0xc1, 1)).length; // => 1
 */
export function decodeRlp(bytes: Uint8Array): RlpItem {
  let left = MAX_ITEMS;
  const decode = ({ list, start, end }: Extent, depth: number): RlpItem => {
    left -= 1;
    if (left < 0) throw new RlpError("too many items");
    if (!list) return bytes.subarray(start, end);
    if (depth >= MAX_DEPTH) throw new RlpError("lists nest too deep");
    const items: RlpItem[] = [];
    for (let offset = start; offset < end; ) {
      const child = extentAt(bytes, offset, end);
      items.push(decode(child, depth + 1));
      offset = child.end;
    }
    return items;
  };
  const extent = extentAt(bytes, 0, bytes.length);
  if (extent.end !== bytes.length) throw new RlpError("bytes after the item");
  return decode(extent, 0);
}
