import { resource } from "@countersign/http-api/formats.ts";
import { attestation, LoginOnChain, requiredText, UserKeyInput } from "@countersign/http-api/requests.ts";
import { SignedIn, TwoFactorRequested } from "@countersign/http-api/resources.ts";
import type { Services } from "../clients.ts";
import { route, type UntaggedRoute } from "../http/route.ts";
import { toSignedIn } from "./mapping/account.ts";
import { fromAttestation, fromLogin, NEW_KEY_ERRORS, newKeyBeyondSchema, withLoginPointers } from "./mapping/login.ts";
import { fromUserKey } from "./mapping/public-key.ts";
import { DEADLINES, once } from "./rpc.ts";
import { toTwoFactorAuth } from "./two-factor.ts";

/**
 * Returns the routes of a new device: its own side of the enrollment. The side of the approving device is in
 * two-factor.ts.
 */
export const newDeviceRoutes = ({ signIn }: Services): UntaggedRoute[] => [
  route({
    method: "post",
    path: "/auth/v1/signin/2fa",
    operationId: "requestTwoFactor",
    summary: "Asks the account's devices to enroll a new one",
    description:
      "The answer's ephemeral token finishes this request. A registered device approves it with its " +
      "signature; the person types the matching code there, which the new device shows. With the access token of a " +
      "recovery session of the account the request has a place of its own among those that are pending.",
    token: "optional",
    recover: true,
    idempotencyKey: true,
    request: {
      // The identity names the account: here a login token is never optional.
      body: resource("TwoFactorEnrollmentRequest", "The login and the key of a new device.", {
        request: LoginOnChain,
        userKey: UserKeyInput,
        ...attestation,
      }),
    },
    beyondSchema: newKeyBeyondSchema("/request"),
    response: TwoFactorRequested,
    errors: [
      ...NEW_KEY_ERRORS,
      "AccountNotFound",
      "AccountNotReady",
      "AccountFrozen",
      "AccountLeft",
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
        userKey: fromUserKey(body.userKey),
        attestation: fromAttestation(body),
        idempotencyKey: call.idempotencyKey,
      };
      const requested = signIn.requestTwoFactor(request, once(call, DEADLINES.enrollment));
      const { twoFactorAuth, ephemeralAccessToken } = await withLoginPointers("/request", requested);
      return { twoFactorAuth: toTwoFactorAuth(twoFactorAuth), ephemeralAccessToken };
    },
  }),
  route({
    method: "post",
    path: "/auth/v1/signin/2fa/finish",
    operationId: "finishTwoFactor",
    summary: "Opens the new device's session once its request is approved and sealed",
    description:
      "The Bearer token is the ephemeral one of this very request. Until the request is approved and " +
      "sealed, the answer is `TwoFactorAuthPending` with `Retry-After`.",
    token: "ephemeral",
    request: {
      body: resource("FinishTwoFactorRequest", "The request to finish.", {
        twoFactorAuthRequestId: requiredText(256)
          .meta({
            description: "The id of the request, or any that its message had.",
            examples: ["019a0000-0000-7000-8000-000000000001"],
          })
          .toLowerCase(),
      }),
    },
    response: SignedIn,
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
      const answer = await signIn.finishTwoFactor(body, once(call, DEADLINES.enrollment));
      return toSignedIn(answer, call);
    },
  }),
];
