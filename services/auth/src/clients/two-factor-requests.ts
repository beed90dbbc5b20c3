import { AppError, isUuid } from "@countersign/core";
import type { TwoFactorAuth, TwoFactorService } from "@countersign/proto/device/v1/two_factor.ts";
import {
  nameOf,
  publicKeyFromProto,
  publicKeyToProto,
  type RpcClient,
  TWO_FACTOR_STATUSES,
  USER_KEY_TYPES,
} from "@countersign/rpc";
import type { TwoFactorRequests } from "../domain/two-factor/two-factor-sign-in.ts";

/** Calls device.v1.TwoFactor. */
export const twoFactorRequests = (
  requests: Pick<RpcClient<TwoFactorService>, "openTwoFactor" | "describeEnrollment" | "finishTwoFactor">,
): TwoFactorRequests<TwoFactorAuth> => ({
  async open(
    { id, accountId, chainName, app, userKeyType, accountKey, deviceKey, device, expiresAt },
    { email, ip, recovering, byRecoverySession },
    context,
  ) {
    const request = {
      id,
      accountId,
      chainName,
      app: { ...app },
      userKey: {
        type: USER_KEY_TYPES[userKeyType],
        accountKey: publicKeyToProto(accountKey),
        deviceKey: publicKeyToProto(deviceKey),
        device: { ...device },
      },
      signIn: { email, ip, location: "" },
      expiresAt,
      recovering,
      byRecoverySession,
    };
    const { twoFactorAuth } = await requests.openTwoFactor(request, { ...context, idempotent: true });
    if (!twoFactorAuth) throw new Error("the device service opened a request and returned none");
    return twoFactorAuth;
  },

  async describe(accountId, id, context) {
    if (!isUuid(id)) throw new AppError("TwoFactorAuthNotFound");
    const answer = await requests.describeEnrollment({ accountId, id }, { ...context, idempotent: true });
    const { twoFactorAuth, chainName, userKey, sealed, keyIndex, transaction } = answer;
    const status = nameOf(TWO_FACTOR_STATUSES, twoFactorAuth?.status);
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
