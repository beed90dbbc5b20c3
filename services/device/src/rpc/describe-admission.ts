import type { DescribeAdmissionRequest, DescribeAdmissionResponse } from "@countersign/proto/device/v1/two_factor.ts";
import type { CallContext } from "@countersign/service-kit";
import type { describeAdmission } from "../domain/describe-admission.ts";
import { parseRequest } from "./messages.ts";
import { ofAdmission, toWireTwoFactor, toWireUserKey } from "./two-factor-messages.ts";

/** device.v1.TwoFactor/DescribeAdmission */
export const describeAdmissionRpc =
  (describe: ReturnType<typeof describeAdmission>) =>
  async (request: DescribeAdmissionRequest, { requestId }: CallContext): Promise<DescribeAdmissionResponse> => {
    const view = await describe({ ...parseRequest(ofAdmission, request), requestId });
    const { chainName, userKey, app, sealedAt, keyIndex, result } = view.request;
    return {
      twoFactorAuth: toWireTwoFactor(view),
      chainName,
      userKey: toWireUserKey(userKey),
      app: { ...app },
      sealed: sealedAt !== null,
      keyIndex: keyIndex ?? -1,
      transaction: result === null ? undefined : { ...result, chainName },
    };
  };
