import type { OpenTwoFactorRequest, OpenTwoFactorResponse } from "@countersign/proto/device/v1/two_factor.ts";
import type { CallContext } from "@countersign/rpc";
import type { openTwoFactor } from "../domain/two-factor/open-two-factor.ts";
import { parseRequest } from "./messages.ts";
import { openTwoFactorShape, toWireTwoFactor } from "./two-factor-messages.ts";

/** device.v1.TwoFactor/OpenTwoFactor */
export const openTwoFactorRpc =
  (open: ReturnType<typeof openTwoFactor>) =>
  async (request: OpenTwoFactorRequest, { requestId }: CallContext): Promise<OpenTwoFactorResponse> => {
    const wish = parseRequest(openTwoFactorShape, request);
    return { twoFactorAuth: toWireTwoFactor(await open({ ...wish, requestId })) };
  };
