import type {
  FinishTwoFactorRequest,
  FinishTwoFactorResponse,
  RequestTwoFactorRequest,
  RequestTwoFactorResponse,
} from "@countersign/proto/auth/v1/sign_in.ts";
import { z } from "zod";
import { faultPoint } from "../fault-points.ts";
import { type Route, route } from "../http/route.ts";
import { requiredText } from "../http/validation.ts";
import { signedInSchema, toSignedIn } from "./resources/account.ts";
import { fromLogin, loginMembers, withLoginPointers } from "./resources/login.ts";
import { toTwoFactorAuth, twoFactorAuthSchema } from "./resources/two-factor.ts";
import { fromUserKey, userKeyBody } from "./resources/user-key.ts";
import { DEADLINES, type Rpc } from "./rpc.ts";

/** What of auth these routes call. */
export interface NewDeviceClients {
  newDevice: {
    requestTwoFactor: Rpc<RequestTwoFactorRequest, RequestTwoFactorResponse>;
    finishTwoFactor: Rpc<FinishTwoFactorRequest, FinishTwoFactorResponse>;
  };
}

/** Signing in on a new device: its own side. */
export function newDeviceRoutes({ newDevice }: NewDeviceClients): Route[] {
  return [
    route({
      method: "post",
      path: "/auth/v1/signin/2fa",
      operationId: "requestTwoFactor",
      summary: "Asks the account's devices to let a new one in",
      token: "none",
      limit: "two-factor",
      idempotencyKey: true,
      request: {
        // The identity names the account: here a login token is never optional.
        body: z.object({ request: z.object({ ...loginMembers, chainName: requiredText(64) }), userKey: userKeyBody }),
      },
      response: z.object({ twoFactorAuth: twoFactorAuthSchema, ephemeralAccessToken: z.string() }),
      errors: [
        "InvalidLoginToken",
        "UnknownProvider",
        "IdentityProviderUnavailable",
        "UnknownChain",
        "UnsupportedKey",
        "InvalidPublicKey",
        "KeyBindingRequired",
        "AccountNotFound",
        "AccountNotReady",
        "AccountFrozen",
        "KeyAlreadyRegistered",
        "TooManyDevices",
        "TooManyKeys",
        "TwoFactorAuthClosed",
        "TwoFactorAuthExpired",
        "IdempotencyKeyReused",
        "ChainUnavailable",
      ],
      handler: async ({ body }, call) => {
        const request = {
          login: fromLogin(body.request),
          chainName: body.request.chainName,
          userKey: fromUserKey(body.userKey, "/userKey"),
          idempotencyKey: call.idempotencyKey,
        };
        await faultPoint("new device accepted");
        const requested = newDevice.requestTwoFactor(request, { call, deadlineMs: DEADLINES.newDevice });
        const answer = await withLoginPointers("/request", requested);
        await faultPoint("new device before answer");
        return {
          twoFactorAuth: toTwoFactorAuth(answer.twoFactorAuth),
          ephemeralAccessToken: answer.ephemeralAccessToken,
        };
      },
    }),
    route({
      method: "post",
      path: "/auth/v1/signin/2fa/finish",
      operationId: "finishTwoFactor",
      summary: "Opens the new device's session once its request is approved and sealed",
      token: "ephemeral",
      request: { body: z.object({ twoFactorAuthRequestId: requiredText(256).toLowerCase() }) },
      response: signedInSchema,
      errors: [
        "PleaseRegisterKey",
        "TwoFactorAuthNotFound",
        "TwoFactorAuthPending",
        "TwoFactorAuthRejected",
        "TwoFactorAuthExpired",
        "TwoFactorAuthFinished",
        "TwoFactorAuthFailed",
        "RateLimited",
        "AccountFrozen",
        "DeviceConflict",
        "TooManyDevices",
        "TooManyKeys",
      ],
      handler: async ({ body }, call) => {
        await faultPoint("finish accepted");
        const answer = await newDevice.finishTwoFactor(body, { call, deadlineMs: DEADLINES.newDevice });
        await faultPoint("finish before answer");
        return toSignedIn(answer);
      },
    }),
  ];
}
