import type { KeyObject } from "node:crypto";
import { AppError } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import { publicKeyOf } from "@countersign/keys/node";

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

/** Returns a holder's key. Errors: KeyHolderError where it is not on P-256. */
export function p256Key(key: KeyObject): PublicKey {
  if (key.asymmetricKeyDetails?.namedCurve !== "prime256v1") throw new KeyHolderError("the key is not on P-256");
  return publicKeyOf(key);
}
