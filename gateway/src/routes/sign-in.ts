import { invalidField } from "@countersign/core";
import { Algorithm, asText, resource, text } from "@countersign/http-api/formats.ts";
import {
  LoginOnChain,
  OptionalLoginOnChain,
  optionalText,
  PublicKeyInput,
  requiredText,
} from "@countersign/http-api/requests.ts";
import { Challenge, SignedIn } from "@countersign/http-api/resources.ts";
import { ChallengeType, type RespondChallengeRequest } from "@countersign/proto/auth/v1/sign_in.ts";
import { z } from "zod";
import type { Services } from "../clients.ts";
import { base64Bytes, clientDataJson, hexBytes, keySignature, toHex, toTimestamp } from "../http/fields.ts";
import { route, type UntaggedRoute } from "../http/route.ts";
import { toSignedIn } from "./mapping/account.ts";
import { fromLogin, LOGIN_ERRORS, loginBeyondSchema, withLoginPointers } from "./mapping/login.ts";
import { fromPublicKey } from "./mapping/public-key.ts";
import { once } from "./rpc.ts";

/** The settings that change a schema. */
export interface RouteOptions {
  /** False only in development: a challenge may be requested without a login token. */
  requireLoginToken: boolean;
}

const challengeType = z.enum(["deviceKey", "passKey"]);
const algorithm = Algorithm.optional();

const challengeBody = (login: typeof LoginOnChain | typeof OptionalLoginOnChain) =>
  z.object({
    challengeType,
    request: login,
    publicKey: optionalText(),
    algorithm,
    passKey: z.object({ username: text().optional() }).optional(),
  });

const forDeviceKey = z.literal("deviceKey").meta({ description: "A device key signs.", examples: ["deviceKey"] });
const forPasskey = z.literal("passKey").meta({ description: "A passkey signs.", examples: ["passKey"] });
const ofKey = asText(challengeType).meta({ description: "The kind of the key that signs.", examples: ["deviceKey"] });
const username = requiredText().meta({ description: "The login's e-mail address.", examples: ["ada@example.com"] });

/** The same for the document. The validated one is one object, so that each refusal names its member. */
const documentedChallengeBody = (request: typeof LoginOnChain | typeof OptionalLoginOnChain) =>
  z
    .xor([
      resource("KeyChallengeRequest", "Asks for a challenge for a device key or a passkey.", {
        challengeType: ofKey,
        request,
        publicKey: PublicKeyInput,
        algorithm,
      }),
      resource("PasskeyOwnerChallengeRequest", "Asks for a challenge for any passkey of a person.", {
        challengeType: forPasskey,
        request,
        passKey: resource("PasskeyOwner", "Any passkey of an account, by its e-mail address.", { username }),
      }),
    ])
    .meta({ id: "ChallengeRequest", description: "Asks for a challenge." });

const challengeData = hexBytes(64, "The challenge, as it was issued.", "000102030405060708090a0b0c0d0e0f");
const deviceKey = z.object({ signature: hexBytes(256, "The signature over the challenge's bytes.", "ab") });
const passKey = resource("PasskeyAssertion", "An authenticator's assertion (WebAuthn), base64 or base64url.", {
  clientDataJSON: clientDataJson(),
  authenticatorData: base64Bytes(4_096, "The authenticator data."),
  signature: base64Bytes(512, "The authenticator's signature."),
});

const respondBody = z.object({
  challengeType,
  challengeData,
  deviceKey: deviceKey.optional(),
  passKey: passKey.optional(),
});

/** The same for the document. */
const documentedRespondBody = z
  .discriminatedUnion("challengeType", [
    resource("DeviceKeyChallengeAnswer", "A device key's answer.", {
      challengeType: forDeviceKey,
      challengeData,
      deviceKey: keySignature,
    }),
    resource("PasskeyChallengeAnswer", "A passkey's answer.", { challengeType: forPasskey, challengeData, passKey }),
  ])
  .meta({ id: "ChallengeAnswer", description: "The answer to a challenge." });

/** Returns the routes of signing in on a known device. */
export const signInRoutes = ({ signIn }: Services, { requireLoginToken }: RouteOptions): UntaggedRoute[] => {
  const login = requireLoginToken ? LoginOnChain : OptionalLoginOnChain;
  return [
    route({
      method: "post",
      path: "/auth/v1/signin/challenge",
      operationId: "issueChallenge",
      summary: "Issues a challenge for a registered key; valid for five minutes and one answer",
      description:
        "The device signs the challenge's 16 bytes with the named key. A passkey may also be found by " +
        "the login's e-mail address.",
      token: "none",
      request: { body: challengeBody(login), documentedBody: documentedChallengeBody(login) },
      beyondSchema: loginBeyondSchema("/request"),
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
      description: "The challenge succeeds once. Five wrong answers end it.",
      token: "none",
      request: { body: respondBody, documentedBody: documentedRespondBody },
      response: SignedIn,
      errors: [
        "UnknownChallenge",
        "ChallengeExpired",
        "ChallengeTypeMismatch",
        "InvalidSignature",
        "PleaseRegisterKey",
        "RateLimited",
      ],
      handler: async ({ body }, call) => toSignedIn(await signIn.respondChallenge(fromAnswer(body), once(call)), call),
    }),
  ];
};

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
