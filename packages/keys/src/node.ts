import { createECDH, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { type KeyAlgorithm, type PublicKey, parsePublicKey } from "./public-key.ts";
import { signatureFromDer } from "./signature.ts";
import { JWK_CURVES, type SignatureHash } from "./verify-signature.ts";

export { verifyAssertion } from "./passkey/verify-assertion.ts";
export { recoverSigners } from "./recover-signers.ts";
export { type SignatureHash, toKeyObject, verifySignature } from "./verify-signature.ts";

/** A private key with its canonical public key. */
export interface KeyPair {
  /** The public key in canonical form. */
  readonly publicKey: PublicKey;
  /** The private key, for node:crypto. */
  readonly privateKey: KeyObject;
}

/**
 * Returns the canonical public key of a private (or public) node:crypto key.
 * @example
 * const { publicKey, privateKey } = generateKeyPair();
 * publicKeyOf(privateKey).publicKey === publicKey.publicKey; // => true
 */
export function publicKeyOf(key: KeyObject): PublicKey {
  const jwk = (key.type === "private" ? createPublicKey(key) : key).export({ format: "jwk" });
  const hex = (part: string | undefined) => Buffer.from(part ?? "", "base64url").toString("hex");
  const algorithm = (Object.keys(JWK_CURVES) as KeyAlgorithm[]).find((name) => JWK_CURVES[name] === jwk.crv);
  if (!algorithm) throw new TypeError(`no algorithm for curve ${jwk.crv}`);
  return parsePublicKey(hex(jwk.x) + hex(jwk.y), algorithm);
}

/**
 * Returns a P-256 private key from its scalar, 64 hex digits as Flow's tools write it. Errors: TypeError.
 * @example publicKeyOf(privateKeyOf("01".repeat(32))).algorithm; // => "ES256"
 */
export function privateKeyOf(scalar: string): KeyObject {
  if (!/^[0-9a-f]{64}$/i.test(scalar)) throw new TypeError("a P-256 scalar is 64 hex digits");
  const ecdh = createECDH("prime256v1");
  ecdh.setPrivateKey(scalar, "hex");
  const point = ecdh.getPublicKey();
  const part = (bytes: Buffer) => bytes.toString("base64url");
  const [d, x, y] = [Buffer.from(scalar, "hex"), point.subarray(1, 33), point.subarray(33)].map(part);
  return createPrivateKey({ format: "jwk", key: { kty: "EC", crv: "P-256", d: d!, x: x!, y: y! } });
}

/**
 * Creates a device's key, as phones' secure hardware would make it.
 * @example const { publicKey, privateKey } = generateKeyPair("ES256K");
 */
export function generateKeyPair(algorithm: KeyAlgorithm = "ES256"): KeyPair {
  const { privateKey } =
    algorithm === "EdDSA"
      ? generateKeyPairSync("ed25519")
      : generateKeyPairSync("ec", { namedCurve: algorithm === "ES256" ? "prime256v1" : "secp256k1" });
  return { privateKey, publicKey: publicKeyOf(privateKey) };
}

/**
 * Returns a raw 64-byte signature over `message`.
 * @example signMessage(generateKeyPair().privateKey, message).length; // => 64
 */
export function signMessage(privateKey: KeyObject, message: Uint8Array, hash: SignatureHash = "sha256"): Uint8Array {
  if (privateKey.asymmetricKeyType === "ed25519") return sign(null, message, privateKey);
  // As in verifySignature: the option that asks for r||s costs more than the signature.
  return signatureFromDer(sign(hash, message, privateKey));
}
