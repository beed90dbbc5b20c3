import type { GetTwoFactorRequest, GetTwoFactorResponse } from "@countersign/proto/device/v1/two_factor.ts";
import type { CallContext } from "@countersign/rpc";
import type { getTwoFactor } from "../domain/two-factor/get-two-factor.ts";
import { parseRequest, sessionOf } from "./messages.ts";
import { ofTwoFactor, toWireTwoFactor } from "./two-factor-messages.ts";

/** device.v1.TwoFactor/GetTwoFactor */
export const getTwoFactorRpc =
  (get: ReturnType<typeof getTwoFactor>) =>
  async (request: GetTwoFactorRequest, call: CallContext): Promise<GetTwoFactorResponse> => {
    const session = sessionOf(call);
    const { id } = parseRequest(ofTwoFactor, request);
    return { twoFactorAuth: toWireTwoFactor(await get({ session, id, requestId: call.requestId })) };
  };
