import type { DescribeEnrollmentRequest, DescribeEnrollmentResponse } from "@countersign/proto/device/v1/two_factor.ts";
import type { CallContext } from "@countersign/rpc";
import type { describeEnrollment } from "../domain/two-factor/describe-enrollment.ts";
import { parseRequest } from "./messages.ts";
import { ofEnrollment, toWireTwoFactor, toWireUserKey } from "./two-factor-messages.ts";

/** device.v1.TwoFactor/DescribeEnrollment */
export const describeEnrollmentRpc =
  (describe: ReturnType<typeof describeEnrollment>) =>
  async (request: DescribeEnrollmentRequest, { requestId }: CallContext): Promise<DescribeEnrollmentResponse> => {
    const view = await describe({ ...parseRequest(ofEnrollment, request), requestId });
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
