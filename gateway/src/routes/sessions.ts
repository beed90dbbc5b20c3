import { resource } from "@countersign/http-api/formats.ts";
import { requiredText } from "@countersign/http-api/requests.ts";
import { Credentials, IdentityToken, Session } from "@countersign/http-api/resources.ts";
import type { Session as WireSession } from "@countersign/proto/auth/v1/sessions.ts";
import { z } from "zod";
import type { Services } from "../clients.ts";
import { hexBytes, toTimestamp, uuid } from "../http/fields.ts";
import { route, type UntaggedRoute } from "../http/route.ts";
import { toCredentials } from "./mapping/account.ts";
import { toApp } from "./mapping/device.ts";
import { toPublicKey } from "./mapping/public-key.ts";
import { once, repeatable } from "./rpc.ts";

export const sessionRoutes = ({ sessions }: Services): UntaggedRoute[] => [
  route({
    method: "post",
    path: "/auth/v1/token/refresh",
    operationId: "refreshToken",
    summary: "Exchanges a refresh token for the next pair of tokens",
    description:
      "A refresh token is used once. A repetition within 30 seconds, for a lost answer, gets the same " +
      "successor; any other ends the session.",
    token: "none",
    request: {
      body: resource("RefreshTokenRequest", "The refresh token to exchange.", {
        refreshToken: requiredText(8_192).meta({
          description: "The session's latest refresh token.",
          examples: ["eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIwMTlhIn0.c2lnbmF0dXJl"],
        }),
        proof: hexBytes(
          256,
          "The device key's signature over the refresh token; once sent, it is required from then on.",
          "ab".repeat(64),
        ).optional(),
      }),
    },
    response: resource("CredentialsResponse", "The next pair of tokens.", { credentials: Credentials }),
    errors: [
      "InvalidRefreshToken",
      "SessionEnded",
      "RefreshTokenReused",
      "RefreshProofRequired",
      "InvalidSignature",
      "RateLimited",
    ],
    handler: async ({ body: { refreshToken, proof = Buffer.alloc(0) } }, call) => {
      const { credentials } = await sessions.refreshToken({ refreshToken, proof }, once(call));
      return { credentials: toCredentials(credentials) };
    },
  }),
  route({
    method: "post",
    path: "/auth/v1/identity-token",
    operationId: "issueIdentityToken",
    summary: "Issues a token that shows the app's backend who calls",
    description:
      "A JWT of type `identity+jwt`; its audience is the session's app. The backend verifies it by " +
      "`/.well-known/openid-configuration`. No operation here takes it.",
    token: "user",
    request: {
      body: resource("IdentityTokenRequest", "What the identity token repeats.", {
        nonce: requiredText().meta({
          description:
            "A value of the backend that the token repeats, so that it is of use for one sign-in there only.",
          examples: ["n-0S6_WzA2Mj"],
        }),
      }),
    },
    response: IdentityToken,
    handler: async ({ body: { nonce } }, call) => {
      const { identityToken, expiresAt } = await sessions.issueIdentityToken({ nonce }, repeatable(call));
      return { identityToken, expiresAt: toTimestamp(expiresAt) };
    },
  }),
  route({
    method: "post",
    path: "/auth/v1/signout",
    operationId: "signOut",
    summary: "Ends the session of the token",
    description: "Its access tokens stop working everywhere within two seconds.",
    token: "user",
    recover: true,
    handler: (_input, call) => sessions.signOut({}, repeatable(call)),
  }),
  route({
    method: "get",
    path: "/auth/v1/sessions",
    operationId: "listSessions",
    summary: "The account's live sessions, newest first",
    description: "`current` marks the caller's own.",
    token: "user",
    recover: true,
    response: resource("SessionsResponse", "The account's live sessions.", {
      sessions: z.array(Session).meta({ description: "Newest first." }),
    }),
    handler: async (_input, call) => {
      const answer = await sessions.listSessions({}, repeatable(call));
      return { sessions: answer.sessions.map(toSession) };
    },
  }),
  route({
    method: "delete",
    path: "/auth/v1/sessions/{id}",
    operationId: "endSession",
    summary: "Ends one session of the account",
    description:
      "Its access tokens stop working everywhere within two seconds. Of another device, or of the recovery key, " +
      "others end five in a day; then it is `TimeLockContested`.",
    token: "user",
    request: { params: z.object({ id: uuid("The session's id.") }) },
    errors: ["SessionNotFound", "TimeLockContested"],
    handler: ({ params }, call) => sessions.endSession({ sessionId: params.id }, repeatable(call)),
  }),
  route({
    method: "delete",
    path: "/auth/v1/sessions",
    operationId: "endOtherSessions",
    summary: "Ends every session of the account but the caller's own",
    description:
      "Their access tokens stop working everywhere within two seconds. Those of a device, or of the recovery key, " +
      "stay once others have ended five of them in a day.",
    token: "user",
    handler: (_input, call) => sessions.endOtherSessions({}, repeatable(call)),
  }),
];

const toSession = (session: WireSession): Session => ({
  id: session.id,
  app: toApp(session.app),
  publicKey: toPublicKey(session.deviceKey).publicKey,
  createdAt: toTimestamp(session.createdAt),
  lastUsedAt: toTimestamp(session.lastUsedAt),
  expiresAt: toTimestamp(session.expiresAt),
  current: session.current,
});
