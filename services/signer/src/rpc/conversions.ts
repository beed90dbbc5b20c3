import { AppError, isUuid } from "@countersign/core";
import type { AuditReceipt, Signature } from "@countersign/proto/signer/v1/signing.ts";
import type { SignedMessage } from "../domain/decide.ts";

/** Errors: InvalidRequest where an account id is not a UUID. */
export function requireAccountIds(ids: readonly string[], pointer = "/accountId"): void {
  if (!ids.every(isUuid)) throw new AppError("InvalidRequest", { fields: [{ pointer, detail: "not a UUID" }] });
}

/** Errors: InvalidRequest where bytes are not of that length. */
export function requireLength(bytes: Uint8Array, length: number, name: string): void {
  if (bytes.length !== length) throw new AppError("InvalidRequest", { detail: `${name} must have ${length} bytes` });
}

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
