import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { LRUCache } from "lru-cache";
import { hexToBytes } from "./hex.ts";
import type { PublicKey } from "./public-key.ts";
import { parseSignature, signatureToDer } from "./signature.ts";

/** The curves' names in JSON Web Keys. */
export const JWK_CURVES = { ES256: "P-256", ES256K: "secp256k1", EdDSA: "Ed25519" } as const;
const CACHED_KEYS = 4096;
const keyObjects = new LRUCache<string, KeyObject>({ max: CACHED_KEYS });

const base64url = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url");

/**
 * Returns the key for node:crypto. Parsed keys are cached: importing one costs more than a verification.
 * @example toKeyObject(deviceKey).asymmetricKeyType; // => "ec"
 */
export function toKeyObject(key: PublicKey): KeyObject {
  const id = `${key.algorithm}:${key.publicKey}`;
  const known = keyObjects.get(id);
  if (known) return known;
  const bytes = hexToBytes(key.publicKey);
  const crv = JWK_CURVES[key.algorithm];
  const jwk =
    key.algorithm === "EdDSA"
      ? { kty: "OKP", crv, x: base64url(bytes) }
      : { kty: "EC", crv, x: base64url(bytes.subarray(0, 32)), y: base64url(bytes.subarray(32)) };
  const object = createPublicKey({ format: "jwk", key: jwk });
  keyObjects.set(id, object);
  return object;
}

/** Hashes that ECDSA signatures are made over. */
export type SignatureHash = "sha256" | "sha3-256";

/**
 * Returns whether `signature` (raw r||s, DER, or Ed25519) is the key's over `message`. ECDSA hashes the
 * message with `hash`, Ed25519 signs it whole. Never throws for a caller's input.
 * @example
 * const { publicKey, privateKey } = generateKeyPair();
 * verifySignature(publicKey, message, signMessage(privateKey, message)); // => true
 */
export function verifySignature(
  key: PublicKey,
  message: Uint8Array,
  signature: Uint8Array,
  hash: SignatureHash = "sha256",
): boolean {
  try {
    if (key.algorithm === "EdDSA") return signature.length === 64 && verify(null, message, toKeyObject(key), signature);
    // A bare key and DER: with an options object, Node distinguishes keys by a thrown error, which costs as
    // much as half a verification.
    return verify(hash, message, toKeyObject(key), signatureToDer(parseSignature(signature)));
  } catch {
    return false; // malformed: as good as wrong
  }
}
