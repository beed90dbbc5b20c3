import type { ReopenTwoFactorRequest, ReopenTwoFactorResponse } from "@countersign/proto/device/v1/two_factor.ts";
import type { CallContext } from "@countersign/rpc";
import type { reopenTwoFactor } from "../domain/two-factor/reopen-two-factor.ts";
import { sessionOf } from "./messages.ts";

/** device.v1.TwoFactor/ReopenTwoFactor */
export const reopenTwoFactorRpc =
  (reopen: ReturnType<typeof reopenTwoFactor>) =>
  async (_request: ReopenTwoFactorRequest, call: CallContext): Promise<ReopenTwoFactorResponse> => {
    await reopen({ session: sessionOf(call) });
    return {};
  };
