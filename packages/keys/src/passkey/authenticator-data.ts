import { refuse } from "./passkey-error.ts";

/** The authenticator's statement in an assertion (WebAuthn level 3, section 6.1). */
export interface AuthenticatorData {
  /** SHA-256 of the relying party's id. */
  readonly rpIdHash: Uint8Array;
  /** The person touched the authenticator. */
  readonly userPresent: boolean;
  /** The authenticator checked a PIN, a finger or a face. */
  readonly userVerified: boolean;
  /** Of the authenticator's signature counter; 0 where it has none. */
  readonly signCount: number;
}

/** Hash, flags and counter are 37 bytes; extension outputs may follow. */
const MAX_AUTHENTICATOR_DATA_BYTES = 1024;
const FIXED_BYTES = 37;
const MAX_DEPTH = 8;

const FLAGS = { userPresent: 0x01, userVerified: 0x04, eligible: 0x08, backedUp: 0x10, attested: 0x40, extended: 0x80 };

/** Returns where the CBOR item at `at` ends (RFC 8949, definite lengths as CTAP2 requires). */
function cborEnd(bytes: Uint8Array, at: number, depth: number): number {
  const head = bytes[at];
  if (head === undefined || depth > MAX_DEPTH) return refuse("extensions are no CBOR");
  const [major, info] = [head >> 5, head & 31];
  if (info > 27) refuse("extensions are no CBOR");
  const size = info < 24 ? 0 : 1 << (info - 24);
  let end = at + 1 + size;
  if (end > bytes.length) refuse("extensions are no CBOR");
  const argument = size === 0 ? info : bytes.subarray(at + 1, end).reduce((value, byte) => value * 256 + byte, 0);
  if (major === 2 || major === 3) end += argument;
  const items = major === 4 ? argument : major === 5 ? 2 * argument : major === 6 ? 1 : 0;
  // Each item takes at least a byte: a length beyond the end is refused here, before a long loop.
  if (end + items > bytes.length) refuse("extensions are no CBOR");
  for (let item = 0; item < items; item++) end = cborEnd(bytes, end, depth + 1);
  return end;
}

/**
 * Parses an assertion's authenticator data. Throws PasskeyError.
 * @example const { userVerified, signCount } = parseAuthenticatorData(assertion.authenticatorData);
 */
export function parseAuthenticatorData(bytes: Uint8Array): AuthenticatorData {
  if (bytes.length < FIXED_BYTES || bytes.length > MAX_AUTHENTICATOR_DATA_BYTES) {
    refuse("authenticator data of a bad length");
  }
  const flags = bytes[32]!;
  const has = (flag: keyof typeof FLAGS) => (flags & FLAGS[flag]) !== 0;
  if (has("attested")) refuse("an assertion attests no credential");
  if (has("backedUp") && !has("eligible")) refuse("backed up, and not eligible for it");
  if (!has("extended") && bytes.length !== FIXED_BYTES) refuse("bytes after the authenticator data");
  if (has("extended")) {
    const isMap = bytes.length > FIXED_BYTES && bytes[FIXED_BYTES]! >> 5 === 5;
    if (!isMap || cborEnd(bytes, FIXED_BYTES, 0) !== bytes.length) refuse("extensions are not one CBOR map");
  }
  return {
    rpIdHash: bytes.subarray(0, 32),
    userPresent: has("userPresent"),
    userVerified: has("userVerified"),
    signCount: new DataView(bytes.buffer, bytes.byteOffset).getUint32(33),
  };
}
