import { ed25519 } from "@noble/curves/ed25519.js";
import { p256 } from "@noble/curves/nist.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToBase64url } from "./base64url.ts";
import { bytesToHex, hexToBytes, isHex } from "./hex.ts";

/** Signature algorithms by their JOSE names (RFC 7518, RFC 8037, RFC 8812). */
export const KEY_ALGORITHMS = ["ES256", "ES256K", "EdDSA"] as const;
export type KeyAlgorithm = (typeof KEY_ALGORITHMS)[number];

/** A public key in its one canonical form: 128 hex digits x||y for ECDSA, 64 for Ed25519, lower case, no prefix. */
export interface PublicKey {
  readonly algorithm: KeyAlgorithm;
  readonly publicKey: string;
}

/** The text is not a public key; the message says why and holds nothing secret. */
export class PublicKeyError extends Error {
  override readonly name = "PublicKeyError";
}

const CURVES = { ES256: p256, ES256K: secp256k1 } as const;

function canonicalPoint(bytes: Uint8Array, algorithm: "ES256" | "ES256K"): string {
  let encoded = bytes;
  if (bytes.length === 64) {
    encoded = new Uint8Array(65);
    encoded[0] = 4;
    encoded.set(bytes, 1);
  } else if (bytes.length === 65 ? bytes[0] !== 4 : bytes.length !== 33) {
    throw new PublicKeyError(
      "a key is 64 bytes x||y, 65 bytes uncompressed, 33 bytes compressed or 32 bytes of Ed25519",
    );
  }
  try {
    const point = CURVES[algorithm].Point.fromBytes(encoded);
    point.assertValidity();
    return bytesToHex(point.toBytes(false).subarray(1));
  } catch {
    throw new PublicKeyError(`not a point of the curve of ${algorithm}`);
  }
}

function canonicalEd25519(bytes: Uint8Array): string {
  let torsion: boolean;
  try {
    // Strict decoding (RFC 8032): other encodings of a point would be other names of one key.
    const point = ed25519.Point.fromBytes(bytes, false);
    torsion = point.isSmallOrder() || !point.isTorsionFree();
  } catch {
    throw new PublicKeyError("not a point of Ed25519");
  }
  if (torsion) throw new PublicKeyError("a point of small order is nobody's key");
  return bytesToHex(bytes);
}

/**
 * The canonical form of a public key as clients write it: hex of 64 bytes x||y, 65 uncompressed, 33 compressed, or 32 bytes of Ed25519
 * (whatever `algorithm` says, since nothing else has that length). Throws PublicKeyError.
 */
export function parsePublicKey(text: string, algorithm: KeyAlgorithm = "ES256"): PublicKey {
  if (text.length > 132 || !isHex(text)) throw new PublicKeyError("a public key is hex");
  const bytes = hexToBytes(text);
  if (bytes.length === 32) return { algorithm: "EdDSA", publicKey: canonicalEd25519(bytes) };
  if (algorithm === "EdDSA") throw new PublicKeyError("a key of Ed25519 is 32 bytes");
  return { algorithm, publicKey: canonicalPoint(bytes, algorithm) };
}

/** Whether two canonical keys are the same key. */
export const samePublicKey = (a: PublicKey, b: PublicKey): boolean =>
  a.algorithm === b.algorithm && a.publicKey === b.publicKey;

/** The canonical bytes: 64 (ECDSA) or 32 (Ed25519). */
export const publicKeyBytes = (key: PublicKey): Uint8Array => hexToBytes(key.publicKey);

/** base64url(SHA-256(canonical bytes)): the nonce that binds an OpenID login to a key. */
export function publicKeyFingerprint(key: PublicKey): string {
  return bytesToBase64url(sha256(publicKeyBytes(key)));
}
