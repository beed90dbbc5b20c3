import type { FinishTwoFactorRequest, FinishTwoFactorResponse } from "@countersign/proto/device/v1/two_factor.ts";
import type { CallContext } from "@countersign/rpc";
import type { finishTwoFactor } from "../domain/two-factor/finish-two-factor.ts";
import { parseRequest } from "./messages.ts";
import { ofEnrollment, toWireTwoFactor } from "./two-factor-messages.ts";

/** device.v1.TwoFactor/FinishTwoFactor */
export const finishTwoFactorRpc =
  (finish: ReturnType<typeof finishTwoFactor>) =>
  async (request: FinishTwoFactorRequest, { requestId }: CallContext): Promise<FinishTwoFactorResponse> => {
    const view = await finish({ ...parseRequest(ofEnrollment, request), requestId });
    return { twoFactorAuth: toWireTwoFactor(view) };
  };
