import type { SignInService } from "@countersign/proto/auth/v1/sign_in.ts";
import type { TwoFactorAuth } from "@countersign/proto/device/v1/two_factor.ts";
import type { Handler } from "@countersign/rpc";
import type { requestTwoFactor } from "../domain/two-factor/request-two-factor.ts";
import type { Limit } from "./limits.ts";
import { loginFrom, nameFrom, userKeyFrom } from "./messages.ts";

/** auth.v1.SignIn/RequestTwoFactor */
export const requestTwoFactorRpc =
  (
    command: ReturnType<typeof requestTwoFactor<TwoFactorAuth>>,
    limit: Limit,
  ): Handler<SignInService["requestTwoFactor"]> =>
  async ({ login, chainName, userKey, idempotencyKey }, call) => {
    await limit(call);
    const { opened, ephemeralAccessToken } = await command(
      {
        login: loginFrom(login),
        chainName: nameFrom(chainName, "/request/chainName"),
        ...userKeyFrom(userKey),
        idempotencyKey: nameFrom(idempotencyKey, "/idempotencyKey"),
        ip: call.clientIp ?? "",
        requestId: call.requestId,
      },
      call.signal,
    );
    return { twoFactorAuth: opened, ephemeralAccessToken };
  };
