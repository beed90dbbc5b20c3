import type { RejectTwoFactorRequest, RejectTwoFactorResponse } from "@countersign/proto/device/v1/two_factor.ts";
import { type CallContext, requireToken } from "@countersign/rpc";
import type { rejectTwoFactor } from "../domain/two-factor/reject-two-factor.ts";
import { parseRequest, sessionOf } from "./messages.ts";
import { ofTwoFactor } from "./two-factor-messages.ts";

/** device.v1.TwoFactor/RejectTwoFactor */
export const rejectTwoFactorRpc =
  (reject: ReturnType<typeof rejectTwoFactor>) =>
  async (request: RejectTwoFactorRequest, call: CallContext): Promise<RejectTwoFactorResponse> => {
    const session = sessionOf(call);
    const { id } = parseRequest(ofTwoFactor, request);
    await reject({ session, id, requestId: call.requestId, inRecovery: requireToken(call).scope === "recover" });
    return {};
  };
