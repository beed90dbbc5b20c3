import type { PublicKey } from "@countersign/keys";
import { generateKeyPair, signMessage } from "@countersign/keys/node";
import type { Vault } from "./vault.ts";

/** Signs the audit records of this process. The private key stays in this module, in memory only. */
export interface AuditWriter {
  /** Names the public key, signed by the vault's audit key; r||s in hex. */
  readonly certificate: { readonly text: string; readonly signature: string };
  /** r||s over the SHA-256 of the text. */
  sign(text: Uint8Array): Uint8Array;
}

/**
 * Makes a P-256 key pair and has the audit key certify it, once for a process: a key service could not sign
 * each batch of records in time. Errors: KeystoreError, KeyHolderError, Unavailable.
 */
export async function createAuditWriter(
  vault: Vault,
  certificateText: (publicKey: PublicKey, auditKeyVersion: number) => string,
): Promise<AuditWriter> {
  const { publicKey, privateKey } = generateKeyPair();
  const version = vault.version({ role: "audit" });
  const text = certificateText(publicKey, version);
  const signature = await vault.sign({ role: "audit", version }, Buffer.from(text));
  return {
    certificate: { text, signature: Buffer.from(signature).toString("hex") },
    sign: (batch) => signMessage(privateKey, batch, "sha256"),
  };
}
