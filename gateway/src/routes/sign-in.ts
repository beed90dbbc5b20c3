import { AppError } from "@countersign/core";
import {
  ChallengeType,
  type IssueChallengeRequest,
  type IssueChallengeResponse,
  type RespondChallengeRequest,
  type RespondChallengeResponse,
} from "@countersign/proto/auth/v1/sign_in.ts";
import { z } from "zod";
import { type Route, route } from "../http/route.ts";
import { base64Bytes, hexBytes, optionalText, requiredText, text, toHex, toTimestamp } from "../http/validation.ts";
import { signedInSchema, toSignedIn } from "./resources/account.ts";
import { clientDataSchema, toClientData } from "./resources/client-data.ts";
import { fromLogin, loginMembers, optionalLoginMembers, withLoginPointers } from "./resources/login.ts";
import { algorithmSchema, fromPublicKey } from "./resources/public-key.ts";
import { DEADLINES, type Rpc } from "./rpc.ts";

/** What of auth these routes call. */
export interface SignInClients {
  signIn: {
    issueChallenge: Rpc<IssueChallengeRequest, IssueChallengeResponse>;
    respondChallenge: Rpc<RespondChallengeRequest, RespondChallengeResponse>;
  };
}

const challengeType = z.enum(["deviceKey", "passKey"]);

/** The body of a challenge; a development stack may do without a login token. */
function challengeBody(requireLoginToken: boolean) {
  const login = requireLoginToken ? loginMembers : optionalLoginMembers;
  return z.object({
    challengeType,
    request: z.object({ ...login, chainName: requiredText(64) }),
    publicKey: optionalText(),
    algorithm: algorithmSchema.optional(),
    passKey: z.object({ username: text().optional() }).nullish(),
  });
}

const respondBody = z.object({
  challengeType,
  challengeData: hexBytes(64),
  deviceKey: z.object({ signature: hexBytes(256) }).nullish(),
  passKey: z
    .object({
      clientDataJSON: clientDataSchema,
      authenticatorData: base64Bytes(4_096),
      signature: base64Bytes(512),
    })
    .nullish(),
});

/** Signing in on a known device. */
export function signInRoutes(
  { signIn }: SignInClients,
  { requireLoginToken }: { requireLoginToken: boolean },
): Route[] {
  return [
    route({
      method: "post",
      path: "/auth/v1/signin/challenge",
      operationId: "issueChallenge",
      summary: "Issues a challenge for a registered key; valid for five minutes and one answer",
      token: "none",
      limit: "challenge",
      request: { body: challengeBody(requireLoginToken) },
      response: z.object({ challengeData: z.string(), expiresAt: z.string() }),
      errors: [
        "InvalidLoginToken",
        "UnknownProvider",
        "IdentityProviderUnavailable",
        "UnknownChain",
        "InvalidPublicKey",
        "PleaseRegisterKey",
        "KeyBindingRequired",
        "AccountLeft",
      ],
      handler: async ({ body }, call) => {
        const isPasskey = body.challengeType === "passKey";
        const passkeyUsername = (isPasskey && body.passKey?.username) || "";
        const { publicKey } = body;
        if (publicKey === "" && passkeyUsername === "") throw missing("/publicKey");
        const request = {
          challengeType: toChallengeType(body.challengeType),
          login: fromLogin(body.request),
          chainName: body.request.chainName,
          // Who names a key means that one, also where a name comes along.
          publicKey: publicKey === "" ? undefined : fromPublicKey(publicKey, body.algorithm, "/publicKey"),
          passkeyUsername: publicKey === "" ? passkeyUsername : "",
        };
        const issued = signIn.issueChallenge(request, { call, deadlineMs: DEADLINES.unary });
        const answer = await withLoginPointers("/request", issued);
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
      response: signedInSchema,
      errors: [
        "UnknownChallenge",
        "ChallengeExpired",
        "ChallengeTypeMismatch",
        "InvalidSignature",
        "PleaseRegisterKey",
      ],
      handler: async ({ body }, call) => {
        const request = fromAnswer(body);
        return toSignedIn(await signIn.respondChallenge(request, { call, deadlineMs: DEADLINES.unary }));
      },
    }),
  ];
}

const toChallengeType = (type: z.output<typeof challengeType>): ChallengeType =>
  type === "passKey" ? ChallengeType.CHALLENGE_TYPE_PASSKEY : ChallengeType.CHALLENGE_TYPE_DEVICE_KEY;

/** Errors: InvalidRequest where the type's own part is missing. */
function fromAnswer({ challengeType, challengeData, ...body }: z.output<typeof respondBody>): RespondChallengeRequest {
  const request = { challengeType: toChallengeType(challengeType), challengeData };
  if (challengeType === "deviceKey") {
    if (!body.deviceKey) throw missing("/deviceKey");
    return { ...request, deviceKey: { signature: body.deviceKey.signature } };
  }
  if (!body.passKey) throw missing("/passKey");
  const { clientDataJSON, authenticatorData, signature } = body.passKey;
  return { ...request, passkey: { clientDataJson: toClientData(clientDataJSON), authenticatorData, signature } };
}

const missing = (pointer: string) =>
  new AppError("InvalidRequest", {
    detail: "Some fields are not valid",
    fields: [{ pointer, detail: "Required for this challengeType" }],
  });
