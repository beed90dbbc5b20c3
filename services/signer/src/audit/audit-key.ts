import type { PublicKey } from "@countersign/keys";
import { verifySignature } from "@countersign/keys/node";

/** Public halves of the audit key by version. */
export type AuditPublicKeys = ReadonlyMap<number, PublicKey>;

/** A text with its signature: ECDSA on P-256 over its SHA-256, r||s in hex. */
export interface SignedText {
  readonly text: string;
  readonly signature: string;
}

/** Returns whether the audit key of that version has signed the text. */
export function verifyAuditSignature({ text, signature }: SignedText, version: number, keys: AuditPublicKeys): boolean {
  const key = keys.get(version);
  return key !== undefined && verifySignature(key, Buffer.from(text), Buffer.from(signature, "hex"), "sha256");
}
