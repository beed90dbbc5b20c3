import { type KeyAlgorithm, type PublicKey, PublicKeyError } from "./public-key.ts";

/**
 * Returns the bytes of a canonical key of this algorithm.
 * @example publicKeyLength("EdDSA"); // => 32
 */
export function publicKeyLength(algorithm: KeyAlgorithm): 32 | 64 {
  return algorithm === "EdDSA" ? 32 : 64;
}

/**
 * Checks whether a value of unknown origin has the canonical form of a public key. It does not check that the
 * point is on its curve: `parsePublicKey` does.
 * @example isCanonicalPublicKey({ algorithm: "ES256", publicKey: "0x04" }); // => false
 */
export function isCanonicalPublicKey(value: { algorithm: unknown; publicKey: unknown }): value is PublicKey {
  const { algorithm, publicKey } = value;
  if (algorithm !== "ES256" && algorithm !== "ES256K" && algorithm !== "EdDSA") return false;
  return (
    typeof publicKey === "string" &&
    publicKey.length === 2 * publicKeyLength(algorithm) &&
    /^[0-9a-f]+$/.test(publicKey)
  );
}

/**
 * Returns a key that is in canonical form already, without the curves' arithmetic, for clients: server and
 * chain check the point. Throws PublicKeyError for every other encoding.
 * @example canonicalPublicKey(deviceKey).algorithm; // => "ES256"
 */
export function canonicalPublicKey(value: { algorithm: unknown; publicKey: unknown }): PublicKey {
  if (!isCanonicalPublicKey(value)) throw new PublicKeyError("not a public key in canonical form");
  return { algorithm: value.algorithm, publicKey: value.publicKey };
}
