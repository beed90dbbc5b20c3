import type { PublicKey } from "@countersign/keys";

/**
 * The origin of a user key: the account's creation, a device's approval, or a recovery key's after its time
 * lock.
 */
export type KeySource = "creation" | "device" | "recovery";

/** A user key that came to an account with the signer's signature. */
export interface AddedKey {
  readonly key: PublicKey;
  readonly source: KeySource;
  readonly firstSignedAt: Date;
  /** The last time that its addition was signed: the age of the key counts from here. */
  readonly signedAt: Date;
  /** The signer has signed its revocation. */
  readonly revoked: boolean;
}

/**
 * Returns for how many milliseconds a key has been on its account: Infinity for a key of the creation, which
 * found nothing older there, and for one that a recovery key approved after its time lock; 0 for a key that
 * is not known.
 */
export function ageOfKey(added: AddedKey | undefined, now: Date): number {
  if (!added) return 0;
  return added.source === "device" ? now.getTime() - added.signedAt.getTime() : Number.POSITIVE_INFINITY;
}
