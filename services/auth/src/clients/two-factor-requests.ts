import { AppError, isUuid } from "@countersign/core";
import { type TwoFactorAuth, type TwoFactorService, TwoFactorStatus } from "@countersign/proto/device/v1/two_factor.ts";
import { publicKeyFromProto, publicKeyToProto, type RpcClient } from "@countersign/rpc";
import type { Enrollment, TwoFactorRequests } from "../domain/two-factor/two-factor-sign-in.ts";
import { userKeyTypeToProto } from "./sign-up-steps.ts";

const STATUS = new Map<number, Enrollment["status"]>([
  [TwoFactorStatus.TWO_FACTOR_STATUS_PENDING, "pending"],
  [TwoFactorStatus.TWO_FACTOR_STATUS_APPROVED, "approved"],
  [TwoFactorStatus.TWO_FACTOR_STATUS_REJECTED, "rejected"],
  [TwoFactorStatus.TWO_FACTOR_STATUS_EXPIRED, "expired"],
  [TwoFactorStatus.TWO_FACTOR_STATUS_FINISHED, "finished"],
  [TwoFactorStatus.TWO_FACTOR_STATUS_FAILED, "failed"],
]);

/** Calls device.v1.TwoFactor. */
export const twoFactorRequests = (
  requests: Pick<RpcClient<TwoFactorService>, "openTwoFactor" | "describeEnrollment" | "finishTwoFactor">,
): TwoFactorRequests<TwoFactorAuth> => ({
  async open(
    { id, accountId, chainName, app, userKeyType, accountKey, deviceKey, device, expiresAt },
    { email, ip, recovering },
    context,
  ) {
    const request = {
      id,
      accountId,
      chainName,
      app: { ...app },
      userKey: {
        type: userKeyTypeToProto(userKeyType),
        accountKey: publicKeyToProto(accountKey),
        deviceKey: publicKeyToProto(deviceKey),
        device: { ...device },
      },
      signIn: { email, ip, location: "" },
      expiresAt,
      recovering,
    };
    const { twoFactorAuth } = await requests.openTwoFactor(request, { ...context, idempotent: true });
    if (!twoFactorAuth) throw new Error("the device service opened a request and returned none");
    return twoFactorAuth;
  },

  async describe(accountId, id, context) {
    if (!isUuid(id)) throw new AppError("TwoFactorAuthNotFound");
    const answer = await requests.describeEnrollment({ accountId, id }, { ...context, idempotent: true });
    const { twoFactorAuth, chainName, userKey, sealed, keyIndex, transaction } = answer;
    const status = STATUS.get(twoFactorAuth?.status ?? 0);
    const deviceId = twoFactorAuth?.request?.srcDevice?.id;
    if (!twoFactorAuth || !status || !deviceId || (sealed && !transaction))
      throw new Error(`the device service described request ${id} incompletely`);
    return {
      id: twoFactorAuth.id,
      status,
      chainName,
      accountKey: publicKeyFromProto(userKey?.accountKey),
      deviceKey: publicKeyFromProto(userKey?.deviceKey),
      deviceId,
      sealed: sealed && transaction ? { keyIndex, transaction } : undefined,
    };
  },

  async finish(accountId, id, context) {
    await requests.finishTwoFactor({ accountId, id }, { ...context, idempotent: true });
  },
});
