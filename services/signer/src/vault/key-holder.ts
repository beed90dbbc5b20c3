import { AppError } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";

/** A device or a service that keeps private keys to itself: an HSM, a cloud's key service. P-256 only. */
export interface KeyHolder {
  /** Of the key with the holder's own name. Errors: KeyHolderError where it is none on P-256. */
  publicKey(id: string): Promise<PublicKey>;
  /** r||s, 64 bytes, over a digest of 32 bytes of any hash. Errors: KeyHolderError, Unavailable. */
  signDigest(id: string, digest: Uint8Array): Promise<Uint8Array>;
  close(): void;
}

/** Thrown when the holder has no such key, or not as it was configured. */
export class KeyHolderError extends Error {
  override readonly name = "KeyHolderError";
}

/** Returns the error for a holder that did not answer; its own message is logged and not sent. */
export const holderUnavailable = (cause: unknown): AppError =>
  new AppError("Unavailable", { retryAfterSeconds: 1, detail: "a vault did not answer", cause });

const SPKI_P256 = Buffer.from("3059301306072a8648ce3d020106082a8648ce3d030107034200", "hex");

/**
 * Returns the key in a SubjectPublicKeyInfo (RFC 5480), DER. Errors: KeyHolderError where it is not on P-256.
 */
export function p256FromSpki(der: Uint8Array): string {
  const bytes = Buffer.from(der);
  const point = bytes.subarray(SPKI_P256.length);
  const fits = bytes.subarray(0, SPKI_P256.length).equals(SPKI_P256) && point.length === 65 && point[0] === 4;
  if (!fits) throw new KeyHolderError("the key is not on P-256");
  return point.subarray(1).toString("hex");
}
