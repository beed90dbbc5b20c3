/*
 * UTF-8 in plain code: React Native before 0.85 has no TextDecoder. A strict one is used where there is one;
 * some substitutes for React Native refuse the options, or take no notice of them.
 */

function strictDecoder(): InstanceType<typeof TextDecoder> | undefined {
  try {
    const decoder = new globalThis.TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return decoder.fatal && decoder.ignoreBOM ? decoder : undefined;
  } catch {
    return undefined;
  }
}
const strict = strictDecoder();

/**
 * Returns the text of bytes in UTF-8, a byte order mark included. Throws where they are not valid.
 * @example decodeUtf8(Uint8Array.of(0xc3, 0xa9)); // => "é"
 */
export function decodeUtf8(bytes: Uint8Array): string {
  if (strict) return strict.decode(bytes);
  // decodeURIComponent refuses exactly the same: overlong forms, surrogates, numbers above U+10FFFF.
  let escaped = "";
  for (const byte of bytes) escaped += byte < 0x80 && byte !== 0x25 ? String.fromCharCode(byte) : `%${hex(byte)}`;
  return decodeURIComponent(escaped);
}

const hex = (byte: number): string => byte.toString(16).padStart(2, "0");

/**
 * Returns how many bytes at the end begin a character whose other bytes are still to come.
 * @example incompleteUtf8(Uint8Array.of(0x61, 0xc3)); // => 1
 */
export function incompleteUtf8(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}
