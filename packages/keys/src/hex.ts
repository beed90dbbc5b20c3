const HEX = /^(?:0x)?(?:[0-9a-fA-F]{2})*$/;

/** Whether a string is hex of whole bytes; `0x` and upper case are accepted on input. */
export const isHex = (text: string): boolean => HEX.test(text);

const DIGITS = "0123456789abcdef";
/** The value of each hex digit by its character code; what is none has 255. */
const VALUES = new Uint8Array(256).fill(255);
for (let value = 0; value < 16; value++) {
  VALUES[DIGITS.charCodeAt(value)] = value;
  VALUES[DIGITS.toUpperCase().charCodeAt(value)] = value;
}
const PAIRS = Array.from({ length: 256 }, (_, byte) => DIGITS[byte >> 4]! + DIGITS[byte & 15]!);

/** Bytes of a hex string. Throws TypeError when it is not hex. */
export function hexToBytes(text: string): Uint8Array {
  const start = text.startsWith("0x") ? 2 : 0;
  if (text.length % 2 !== 0) throw new TypeError("not hex");
  const bytes = new Uint8Array((text.length - start) / 2);
  for (let i = 0; i < bytes.length; i++) {
    const at = start + 2 * i;
    // `?? 255`: characters beyond Latin-1 are no digits either.
    const high = VALUES[text.charCodeAt(at)] ?? 255;
    const low = VALUES[text.charCodeAt(at + 1)] ?? 255;
    if (high === 255 || low === 255) throw new TypeError("not hex");
    bytes[i] = (high << 4) | low;
  }
  return bytes;
}

/** Lower-case hex without prefix. */
export function bytesToHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += PAIRS[byte];
  return text;
}
