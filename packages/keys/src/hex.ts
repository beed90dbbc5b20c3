import { hexToBytes as decode, bytesToHex as encode } from "@noble/hashes/utils.js";

/**
 * Returns lower-case hex without prefix.
 * @example bytesToHex(Uint8Array.of(0, 255)); // => "00ff"
 */
export const bytesToHex: (bytes: Uint8Array) => string = encode;

const HEX = /^(?:0x)?(?:[0-9a-fA-F]{2})*$/;

/**
 * Returns whether a string is hex of whole bytes; `0x` and upper case are accepted on input.
 * @example
 * isHex("0x00ff"); // => true
 * isHex("0ff"); // => false
 */
export const isHex = (text: string): boolean => HEX.test(text);

/**
 * Returns the bytes of a hex string, with or without `0x`. Throws TypeError when it is not hex.
 * @example [...hexToBytes("0x00ff")]; // => [0, 255]
 */
export function hexToBytes(text: string): Uint8Array {
  try {
    return decode(text.startsWith("0x") ? text.slice(2) : text);
  } catch {
    throw new TypeError("not hex");
  }
}
