import type { ListTwoFactorRequest, ListTwoFactorResponse } from "@countersign/proto/device/v1/two_factor.ts";
import type { CallContext } from "@countersign/rpc";
import { z } from "zod";
import type { listTwoFactor } from "../domain/two-factor/list-two-factor.ts";
import { parseRequest, sessionOf } from "./messages.ts";
import { toWireTwoFactor, twoFactorStatus } from "./two-factor-messages.ts";

const shape = z.object({ status: twoFactorStatus });

/** device.v1.TwoFactor/ListTwoFactor */
export const listTwoFactorRpc =
  (list: ReturnType<typeof listTwoFactor>) =>
  async (request: ListTwoFactorRequest, call: CallContext): Promise<ListTwoFactorResponse> => {
    const session = sessionOf(call);
    const { status } = parseRequest(shape, request);
    const views = await list({ session, status, requestId: call.requestId });
    return { twoFactorAuths: views.map(toWireTwoFactor) };
  };
