import { AppError, invalidField, isUuid } from "@countersign/core";
import type { AuditReceipt, Signature } from "@countersign/proto/signer/v1/signing.ts";
import type { SignedMessage } from "../domain/decide.ts";

/** Requires UUIDs. Errors: InvalidRequest. */
export function requireAccountIds(ids: readonly string[], pointer = "/accountId"): void {
  if (!ids.every(isUuid)) throw invalidField(pointer, "not a UUID");
}

/** Requires bytes of that length. Errors: InvalidRequest. */
export function requireLength(bytes: Uint8Array, length: number, name: string): void {
  if (bytes.length !== length) throw new AppError("InvalidRequest", { detail: `${name} must have ${length} bytes` });
}

/** Returns signer.v1.Signature and signer.v1.AuditReceipt of a signed message. */
export const signedToProto = ({
  address,
  keyId,
  signature,
  receipt,
}: SignedMessage): { signature: Signature; audit: AuditReceipt } => ({
  signature: { address: Buffer.from(address, "hex"), keyId, signature: Buffer.from(signature) },
  audit: { chainId: receipt.chainId, sequence: receipt.sequence, recordHash: Buffer.from(receipt.hash, "hex") },
});
