import type { AuditReceipt, Signature } from "@countersign/proto/signer/v1/signing.ts";
import type { SignedMessage } from "../domain/decide.ts";

/** signer.v1.Signature and signer.v1.AuditReceipt of a signed message. */
export const signedToProto = ({
  address,
  keyId,
  signature,
  receipt,
}: SignedMessage): { signature: Signature; audit: AuditReceipt } => ({
  signature: { address: Buffer.from(address, "hex"), keyId, signature: Buffer.from(signature) },
  audit: { chainId: receipt.chainId, sequence: receipt.sequence, recordHash: Buffer.from(receipt.hash, "hex") },
});
