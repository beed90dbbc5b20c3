const HEX = /^(?:0x)?(?:[0-9a-fA-F]{2})*$/;

/** Whether a string is hex of whole bytes; `0x` and upper case are accepted on input. */
export const isHex = (text: string): boolean => HEX.test(text);

/** Bytes of a hex string. Throws TypeError when it is not hex. */
export function hexToBytes(text: string): Uint8Array {
  if (!isHex(text)) throw new TypeError("not hex");
  const digits = text.startsWith("0x") ? text.slice(2) : text;
  const bytes = new Uint8Array(digits.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16);
  return bytes;
}

/** Lower-case hex without prefix. */
export function bytesToHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}
