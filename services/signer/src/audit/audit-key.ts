import type { PublicKey } from "@countersign/keys";
import { verifySignature } from "@countersign/keys/node";

/** Public halves of the audit key by version. */
export type AuditPublicKeys = ReadonlyMap<number, PublicKey>;

/** A text with its signature: ECDSA on P-256 over its SHA-256, r||s in hex. */
export interface SignedText {
  readonly text: string;
  readonly signature: string;
}

/** The vault's audit key. */
export interface AuditSigner {
  version(): number;
  /** r||s over the SHA-256 of the text. */
  sign(text: Uint8Array): Promise<Uint8Array>;
  /** Public halves of all versions. */
  readonly keys: AuditPublicKeys;
}

/** Signs a text with the audit key. */
export async function signText(signer: Pick<AuditSigner, "sign">, text: string): Promise<SignedText> {
  return { text, signature: Buffer.from(await signer.sign(Buffer.from(text))).toString("hex") };
}

/** Returns whether the audit key of that version has signed the text. */
export function verifyAuditSignature({ text, signature }: SignedText, version: number, keys: AuditPublicKeys): boolean {
  const key = keys.get(version);
  return key !== undefined && verifySignature(key, Buffer.from(text), Buffer.from(signature, "hex"), "sha256");
}
