import type { RedirectTwoFactorRequest, RedirectTwoFactorResponse } from "@countersign/proto/device/v1/two_factor.ts";
import type { CallContext } from "@countersign/rpc";
import type { redirectTwoFactor } from "../domain/two-factor/redirect-two-factor.ts";
import { parseRequest, sessionOf, uuid } from "./messages.ts";
import { ofTwoFactor, toWireTwoFactor } from "./two-factor-messages.ts";

const shape = ofTwoFactor.extend({ destDeviceId: uuid });

/** device.v1.TwoFactor/RedirectTwoFactor */
export const redirectTwoFactorRpc =
  (redirect: ReturnType<typeof redirectTwoFactor>) =>
  async (request: RedirectTwoFactorRequest, call: CallContext): Promise<RedirectTwoFactorResponse> => {
    const session = sessionOf(call);
    const { id, destDeviceId } = parseRequest(shape, request);
    const view = await redirect({ session, id, destDeviceId, requestId: call.requestId });
    return { twoFactorAuth: toWireTwoFactor(view) };
  };
