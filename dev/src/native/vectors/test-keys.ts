import { bytesToHex, type KeyAlgorithm, type PublicKey } from "@countersign/keys";
import { ed25519 } from "@noble/curves/ed25519.js";
import { p256 } from "@noble/curves/nist.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Keys of known secrets: for tests only. */
export const SECRETS: Record<KeyAlgorithm, string> = {
  ES256: "01".repeat(32),
  ES256K: "02".repeat(32),
  EdDSA: "03".repeat(32),
};
const secretOf = (algorithm: KeyAlgorithm): Uint8Array => Uint8Array.from(Buffer.from(SECRETS[algorithm], "hex"));

export function publicKeyOf(algorithm: KeyAlgorithm): PublicKey {
  const secret = secretOf(algorithm);
  if (algorithm === "EdDSA") return { algorithm, publicKey: bytesToHex(ed25519.getPublicKey(secret)) };
  const curve = algorithm === "ES256" ? p256 : secp256k1;
  return { algorithm, publicKey: bytesToHex(curve.getPublicKey(secret, false).subarray(1)) };
}

/** Signs with nonces of RFC 6979, so that the file is the same each time. */
export function sign(algorithm: KeyAlgorithm, message: Uint8Array): Uint8Array {
  const secret = secretOf(algorithm);
  if (algorithm === "EdDSA") return ed25519.sign(message, secret);
  return (algorithm === "ES256" ? p256 : secp256k1).sign(message, secret);
}

export const ALGORITHMS = Object.keys(SECRETS) as KeyAlgorithm[];
export const device = publicKeyOf("ES256");
export const other = publicKeyOf("ES256K");
export const ADDRESS = "01cf0e2f2f715450";
export const PAYMASTER = "179b6b1cb6755e31";
export const STRANGE = "f8d6e0586b0a20c7";
