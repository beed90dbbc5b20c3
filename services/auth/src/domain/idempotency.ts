import { hash } from "node:crypto";

/** An Idempotency-Key as it is stored. */
export interface Idempotency {
  /** Hash of route, principal and key. */
  readonly id: string;
  /** Hash of the body: the same key with another body is refused. */
  readonly fingerprint: string;
}

/** Returns the hash of values in their order, in hex. */
export const hashOf = (parts: readonly unknown[]): string => hash("sha256", JSON.stringify(parts));
