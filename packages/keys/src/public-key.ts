import { ed25519 } from "@noble/curves/ed25519.js";
import { p256 } from "@noble/curves/nist.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToBase64url } from "./base64url.ts";
import { bytesToHex, hexToBytes, isHex } from "./hex.ts";

/**
 * Signature algorithms by their JOSE names (RFC 7518, RFC 8037, RFC 8812).
 * @example KEY_ALGORITHMS.join(" "); // => "ES256 ES256K EdDSA"
 */
export const KEY_ALGORITHMS = ["ES256", "ES256K", "EdDSA"] as const;
/** A signature algorithm by its JOSE name. */
export type KeyAlgorithm = (typeof KEY_ALGORITHMS)[number];

/**
 * A public key in its one canonical form: 128 hex digits x||y for ECDSA, 64 for Ed25519, lower case, no
 * prefix.
 */
export interface PublicKey {
  /** The curve and signature scheme. */
  readonly algorithm: KeyAlgorithm;
  /** The canonical hex digits. */
  readonly publicKey: string;
}

/**
 * Thrown when the text is not a public key; the message says why and holds nothing secret.
 * @example
 * const isKey = (text: string) => {
 *   try {
 *     return parsePublicKey(text) !== undefined;
 *   } catch (error) {
 *     if (error instanceof PublicKeyError) return false;
 *     throw error;
 *   }
 * };
 * isKey("not a key"); // => false
 */
export class PublicKeyError extends Error {
  override readonly name = "PublicKeyError";
}

/** The curves of ECDSA. */
export const CURVES = { ES256: p256, ES256K: secp256k1 } as const;

/**
 * Returns whether 64 bytes x||y are a point of the curve (SEC 1, 3.2.2.1). Both curves have a prime order, so
 * each of their points is of that order.
 */
function isOnCurve(hex: string, algorithm: "ES256" | "ES256K"): boolean {
  const { p, a, b } = CURVES[algorithm].Point.CURVE();
  const [x, y] = [BigInt(`0x${hex.slice(0, 64)}`), BigInt(`0x${hex.slice(64)}`)];
  return x < p && y < p && (y * y - (x * x + a) * x - b) % p === 0n;
}

function canonicalPoint(bytes: Uint8Array, algorithm: "ES256" | "ES256K"): string {
  if (bytes.length === 65 && bytes[0] !== 4) throw new PublicKeyError("a public key of 65 bytes starts with 04");
  const hex = bytesToHex(bytes.length === 33 ? decompressed(bytes, algorithm) : bytes.subarray(-64));
  if (!isOnCurve(hex, algorithm)) throw notAPoint(algorithm);
  return hex;
}

function decompressed(bytes: Uint8Array, algorithm: "ES256" | "ES256K"): Uint8Array {
  try {
    return CURVES[algorithm].Point.fromBytes(bytes).toBytes(false).subarray(1);
  } catch {
    throw notAPoint(algorithm);
  }
}

const notAPoint = (algorithm: string) => new PublicKeyError(`not a point of the curve of ${algorithm}`);

function canonicalEd25519(bytes: Uint8Array): string {
  let torsion: boolean;
  try {
    // Strict decoding (RFC 8032): a key must have only one encoding.
    const point = ed25519.Point.fromBytes(bytes, false);
    torsion = point.isSmallOrder() || !point.isTorsionFree();
  } catch {
    throw new PublicKeyError("not a point of Ed25519");
  }
  if (torsion) throw new PublicKeyError("a point of small order is nobody's key");
  return bytesToHex(bytes);
}

/**
 * The lengths that a public key may have, as a person must read them.
 * @example const help = `Paste the public key as ${PUBLIC_KEY_LENGTHS}.`;
 */
export const PUBLIC_KEY_LENGTHS =
  "hex of 64 bytes x||y (128 digits), 65 uncompressed (130), 33 compressed (66) or 32 of Ed25519 (64)";
const DIGITS: readonly number[] = [128, 130, 66, 64];

/** Says what is wrong with a text that has a wrong length or is not hex. */
function notAKey(text: string, digits: number): PublicKeyError {
  if (!/^(?:0x)?[0-9a-fA-F]*$/.test(text)) return new PublicKeyError(`not hex; a public key is ${PUBLIC_KEY_LENGTHS}`);
  // SEQUENCE { SEQUENCE …: the SubjectPublicKeyInfo (RFC 5280, 4.1) that most libraries export.
  const der = /^(?:0x)?30[0-9a-fA-F]{2}30/.test(text);
  const problem = der
    ? "DER (SubjectPublicKeyInfo) is not taken; send the bare point at its end"
    : `${digits} digits are not a public key`;
  return new PublicKeyError(`${problem}: ${PUBLIC_KEY_LENGTHS}`);
}

/**
 * Returns the canonical form of a public key as clients write it: hex of 64 bytes x||y, 65 uncompressed, 33
 * compressed, or 32 bytes of Ed25519 (with any `algorithm`, since no other key has that length). Throws
 * PublicKeyError.
 * @example
 * const key = parsePublicKey(`0x04${deviceKey.publicKey.toUpperCase()}`);
 * key.publicKey === deviceKey.publicKey; // => true
 */
export function parsePublicKey(text: string, algorithm: KeyAlgorithm = "ES256"): PublicKey {
  const digits = text.startsWith("0x") ? text.length - 2 : text.length;
  if (!DIGITS.includes(digits) || !isHex(text)) throw notAKey(text, digits);
  const bytes = hexToBytes(text);
  if (bytes.length === 32) return { algorithm: "EdDSA", publicKey: canonicalEd25519(bytes) };
  if (algorithm === "EdDSA") throw new PublicKeyError("a key of Ed25519 is 32 bytes (64 digits)");
  return { algorithm, publicKey: canonicalPoint(bytes, algorithm) };
}

/**
 * Returns whether two canonical keys are the same key.
 * @example samePublicKey(deviceKey, parsePublicKey(deviceKey.publicKey)); // => true
 */
export const samePublicKey = (a: PublicKey, b: PublicKey): boolean =>
  a.algorithm === b.algorithm && a.publicKey === b.publicKey;

/**
 * Returns the canonical bytes: 64 (ECDSA) or 32 (Ed25519).
 * @example publicKeyBytes(deviceKey).length; // => 64
 */
export const publicKeyBytes = (key: PublicKey): Uint8Array => hexToBytes(key.publicKey);

/**
 * Returns base64url(SHA-256(canonical bytes)), the nonce that binds an OpenID login to a key.
 * @example const nonce = publicKeyFingerprint(deviceKey);
 */
export function publicKeyFingerprint(key: PublicKey): string {
  return bytesToBase64url(sha256(publicKeyBytes(key)));
}
