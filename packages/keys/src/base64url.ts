/**
 * Returns base64url without padding (RFC 4648, section 5).
 * @example bytesToBase64url(Uint8Array.of(251, 255)); // => "-_8"
 */
export function bytesToBase64url(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/**
 * Returns the bytes of base64url without padding, in canonical encoding only. Throws TypeError for anything
 * else.
 * @example [...base64urlToBytes("-_8")]; // => [251, 255]
 */
export function base64urlToBytes(text: string): Uint8Array {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) throw new TypeError("not base64url");
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  // The last character may hold bits that no byte has: a non-canonical encoding of the same bytes.
  if (bytesToBase64url(bytes) !== text) throw new TypeError("not base64url");
  return bytes;
}
