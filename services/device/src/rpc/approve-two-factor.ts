import { AppError } from "@countersign/core";
import type { ApproveTwoFactorRequest, ApproveTwoFactorResponse } from "@countersign/proto/device/v1/two_factor.ts";
import { type CallContext, requireToken } from "@countersign/rpc";
import { z } from "zod";
import type { Approval, approveTwoFactor } from "../domain/two-factor/approve-two-factor.ts";
import { parseRequest } from "./messages.ts";
import { ofTwoFactor } from "./two-factor-messages.ts";

/** More than either part of an assertion may have. */
const bytes = z.instanceof(Uint8Array).refine(({ length }) => length <= 4096, "is too long");
/** Raw r||s or DER. */
const MAX_SIGNATURE = 72;

const shape = ofTwoFactor.extend({
  txId: z
    .string()
    .regex(/^[0-9a-f]{64}$/, "is not 64 hex digits in lower case")
    .optional(),
  signature: z
    .object({
      signature: z
        .instanceof(Uint8Array)
        .refine(({ length }) => length > 0 && length <= MAX_SIGNATURE, "is not a signature"),
      clientDataJson: bytes,
      authenticatorData: bytes,
    })
    .optional(),
});

function approvalOf({ txId, signature }: z.infer<typeof shape>): Approval {
  if (txId !== undefined) return { transactionId: txId };
  if (!signature) {
    const detail = "a transaction id or a signature is needed";
    throw new AppError("InvalidRequest", { fields: [{ pointer: "/approval", detail }] });
  }
  const { clientDataJson: clientDataJSON, authenticatorData } = signature;
  if (clientDataJSON.length === 0 && authenticatorData.length === 0) return { signature: signature.signature };
  return { signature: signature.signature, passkey: { clientDataJSON, authenticatorData } };
}

/** device.v1.TwoFactor/ApproveTwoFactor */
export const approveTwoFactorRpc =
  (approve: ReturnType<typeof approveTwoFactor>) =>
  async (request: ApproveTwoFactorRequest, call: CallContext): Promise<ApproveTwoFactorResponse> => {
    const { accountId, sessionKey, accountKey, appId, scope, sessionId } = requireToken(call);
    const parsed = parseRequest(shape, request);
    const { requestId, trace, rawToken } = call;
    await approve({
      session: {
        accountId,
        sessionKey,
        accountKey,
        appId,
        ...(scope === "recover" && { recoverySessionId: sessionId }),
      },
      id: parsed.id,
      requestId,
      approval: approvalOf(parsed),
      call: { requestId, trace, ...(rawToken === undefined ? {} : { rawToken }) },
    });
    return {};
  };
