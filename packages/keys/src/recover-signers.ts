import { createHash } from "node:crypto";
import { bytesToHex } from "./hex.ts";
import { CURVES } from "./public-key.ts";
import { parseSignature } from "./signature.ts";

/** A signature's point R has the x coordinate r or r + n, and either of two y (SEC 1, section 4.1.6). */
const RECOVERY_BITS = [0, 1, 2, 3];

/**
 * Returns every public key of a curve, as 128 hex digits, whose signature over the SHA2-256 of `message` this
 * is: at most four. None where the bytes are no signature (raw r||s or DER).
 * @example
 * const { publicKey, privateKey } = generateKeyPair();
 * const signers = recoverSigners("ES256", message, signMessage(privateKey, message));
 * signers.includes(publicKey.publicKey); // => true
 */
export function recoverSigners(
  algorithm: keyof typeof CURVES,
  message: Uint8Array,
  signature: Uint8Array,
): readonly string[] {
  const digest = createHash("sha256").update(message).digest();
  return RECOVERY_BITS.flatMap((bit) => {
    try {
      const parsed = CURVES[algorithm].Signature.fromBytes(parseSignature(signature), "compact");
      const key = parsed.addRecoveryBit(bit).recoverPublicKey(digest);
      return [bytesToHex(key.toBytes(false).subarray(1))];
    } catch {
      return []; // no such point, or no signature at all
    }
  });
}
