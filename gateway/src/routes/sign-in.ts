import { invalidField } from "@countersign/core";
import { Algorithm } from "@countersign/http-api/formats.ts";
import { Login, OptionalLogin, optionalText, requiredText, text } from "@countersign/http-api/requests.ts";
import { Challenge, SignedIn } from "@countersign/http-api/resources.ts";
import { ChallengeType, type RespondChallengeRequest } from "@countersign/proto/auth/v1/sign_in.ts";
import { z } from "zod";
import type { Services } from "../clients.ts";
import { base64Bytes, clientDataJson, hexBytes, toHex, toTimestamp } from "../http/fields.ts";
import { type Route, route } from "../http/route.ts";
import { toSignedIn } from "./mapping/account.ts";
import { fromLogin, LOGIN_ERRORS, withLoginPointers } from "./mapping/login.ts";
import { fromPublicKey } from "./mapping/public-key.ts";
import { once } from "./rpc.ts";

/** The settings that change a schema. */
export interface RouteOptions {
  /** False only in development: a challenge may be requested without a login token. */
  requireLoginToken: boolean;
}

const challengeType = z.enum(["deviceKey", "passKey"]);

const challengeBody = (login: typeof Login | typeof OptionalLogin) =>
  z.object({
    challengeType,
    request: login.extend({ chainName: requiredText(64) }),
    publicKey: optionalText(),
    algorithm: Algorithm.optional(),
    passKey: z.object({ username: text().optional() }).nullish(),
  });

const respondBody = z.object({
  challengeType,
  challengeData: hexBytes(64),
  deviceKey: z.object({ signature: hexBytes(256) }).nullish(),
  passKey: z
    .object({
      clientDataJSON: clientDataJson(),
      authenticatorData: base64Bytes(4_096),
      signature: base64Bytes(512),
    })
    .nullish(),
});

/** Returns the routes of signing in on a known device. */
export const signInRoutes = ({ signIn }: Services, { requireLoginToken }: RouteOptions): Route[] => [
  route({
    method: "post",
    path: "/auth/v1/signin/challenge",
    operationId: "issueChallenge",
    summary: "Issues a challenge for a registered key; valid for five minutes and one answer",
    token: "none",
    limit: "challenge",
    request: { body: challengeBody(requireLoginToken ? Login : OptionalLogin) },
    response: Challenge,
    errors: [...LOGIN_ERRORS, "InvalidPublicKey", "PleaseRegisterKey", "KeyBindingRequired", "AccountLeft"],
    handler: async ({ body }, call) => {
      const { publicKey } = body;
      const passkeyUsername = (body.challengeType === "passKey" && body.passKey?.username) || "";
      if (publicKey === "" && passkeyUsername === "") throw missing("/publicKey");
      const request = {
        challengeType: toChallengeType(body.challengeType),
        login: fromLogin(body.request),
        chainName: body.request.chainName,
        // A named key takes precedence over a name.
        publicKey: publicKey === "" ? undefined : fromPublicKey(publicKey, body.algorithm, "/publicKey"),
        passkeyUsername: publicKey === "" ? passkeyUsername : "",
      };
      const answer = await withLoginPointers("/request", signIn.issueChallenge(request, once(call)));
      return { challengeData: toHex(answer.challengeData), expiresAt: toTimestamp(answer.expiresAt) };
    },
  }),
  route({
    method: "post",
    path: "/auth/v1/signin/challenge/respond",
    operationId: "respondChallenge",
    summary: "Answers a challenge and opens a session",
    token: "none",
    limit: "respond",
    request: { body: respondBody },
    response: SignedIn,
    errors: ["UnknownChallenge", "ChallengeExpired", "ChallengeTypeMismatch", "InvalidSignature", "PleaseRegisterKey"],
    handler: async ({ body }, call) => toSignedIn(await signIn.respondChallenge(fromAnswer(body), once(call)), call),
  }),
];

const toChallengeType = (type: z.output<typeof challengeType>): ChallengeType =>
  type === "passKey" ? ChallengeType.CHALLENGE_TYPE_PASSKEY : ChallengeType.CHALLENGE_TYPE_DEVICE_KEY;

/**
 * Returns an answer as auth.v1.RespondChallengeRequest. Errors: InvalidRequest where the type's own part is
 * missing.
 */
function fromAnswer({ challengeType, challengeData, ...body }: z.output<typeof respondBody>): RespondChallengeRequest {
  const request = { challengeType: toChallengeType(challengeType), challengeData };
  if (challengeType === "deviceKey") {
    if (!body.deviceKey) throw missing("/deviceKey");
    return { ...request, deviceKey: { signature: body.deviceKey.signature } };
  }
  if (!body.passKey) throw missing("/passKey");
  const { clientDataJSON: clientDataJson, authenticatorData, signature } = body.passKey;
  return { ...request, passkey: { clientDataJson, authenticatorData, signature } };
}

const missing = (pointer: string) => invalidField(pointer, "Required for this challengeType");
