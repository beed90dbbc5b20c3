import type { ApproveTwoFactorRequest } from "@countersign/proto/device/v1/two_factor.ts";
import { z } from "zod";
import { base64Bytes, hexBytes, toHex } from "../../http/validation.ts";
import { clientDataSchema, toClientData } from "./client-data.ts";

/** Whichever form: a transaction's 32 bytes, or what a key signed. Lengths of what hex stands for are in bytes. */
const members = z.object({
  txId: hexBytes(32)
    .refine(({ length }) => length === 32, "Expected 32 bytes")
    .optional(),
  /** Raw r||s or DER, as hex, also a passkey's. */
  signature: hexBytes(72).optional(),
  clientDataJSON: clientDataSchema.optional(),
  authenticatorData: base64Bytes(4_096).optional(),
});

/** The body of an approval: `txId` or `signature`, never both; what a passkey signed stands beside `signature`, all of it. */
export const approvalBody = members.superRefine((body, context) => {
  const refuse = (field: keyof typeof body, message: string) =>
    context.addIssue({ code: "custom", path: [field], message });
  const passkey = (["clientDataJSON", "authenticatorData"] as const).filter((name) => body[name] !== undefined);
  if (body.txId === undefined && body.signature === undefined) refuse("txId", "One of txId and signature is required");
  if (body.txId !== undefined && body.signature !== undefined) refuse("signature", "Not together with txId");
  for (const name of passkey) if (body.signature === undefined) refuse(name, "Only with signature");
  if (passkey.length === 1) {
    refuse(passkey[0] === "clientDataJSON" ? "authenticatorData" : "clientDataJSON", "Required for a passkey");
  }
});

/** The contract's form of an approval of the request `id`. */
export function fromApproval(id: string, body: z.output<typeof approvalBody>): ApproveTwoFactorRequest {
  if (body.signature === undefined) return { id, txId: toHex(body.txId) };
  return {
    id,
    signature: {
      signature: body.signature,
      clientDataJson: toClientData(body.clientDataJSON ?? ""),
      authenticatorData: body.authenticatorData ?? Buffer.alloc(0),
    },
  };
}
