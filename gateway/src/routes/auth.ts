import type {
  EndOtherSessionsRequest,
  EndOtherSessionsResponse,
  EndSessionRequest,
  EndSessionResponse,
  ListSessionsRequest,
  ListSessionsResponse,
  RefreshTokenRequest,
  RefreshTokenResponse,
  SignOutRequest,
  SignOutResponse,
} from "@countersign/proto/auth/v1/sessions.ts";
import type { SignUpRequest, SignUpResponse } from "@countersign/proto/auth/v1/sign_up.ts";
import { z } from "zod";
import { faultPoint } from "../fault-points.ts";
import { type Route, route } from "../http/route.ts";
import { hexBytes, requiredText, uuid } from "../http/validation.ts";
import { credentialsSchema, signedInSchema, toCredentials, toSignedIn } from "./resources/account.ts";
import { fromLogin, loginMembers, withLoginPointers } from "./resources/login.ts";
import { sessionSchema, toSession } from "./resources/session.ts";
import { fromUserKey, userKeyBody } from "./resources/user-key.ts";
import { DEADLINES, type Rpc } from "./rpc.ts";

/** What of auth these routes call. */
export interface AuthClients {
  signUp: { signUp: Rpc<SignUpRequest, SignUpResponse> };
  sessions: {
    refreshToken: Rpc<RefreshTokenRequest, RefreshTokenResponse>;
    signOut: Rpc<SignOutRequest, SignOutResponse>;
    listSessions: Rpc<ListSessionsRequest, ListSessionsResponse>;
    endSession: Rpc<EndSessionRequest, EndSessionResponse>;
    endOtherSessions: Rpc<EndOtherSessionsRequest, EndOtherSessionsResponse>;
  };
}

/** Sign-up and sessions; signing in is in sign-in.ts. */
export function authRoutes({ signUp, sessions }: AuthClients): Route[] {
  return [
    route({
      method: "post",
      path: "/auth/v1/signup",
      operationId: "signUp",
      summary: "Deploys an account on a chain, with the device's key as its first user key",
      token: "optional",
      limit: "sign-up",
      idempotencyKey: true,
      request: {
        body: z.object({ ...loginMembers, chainName: requiredText(64), userKey: userKeyBody }),
      },
      response: signedInSchema,
      errors: [
        "InvalidLoginToken",
        "UnknownProvider",
        "IdentityProviderUnavailable",
        "UnknownChain",
        "UnsupportedKey",
        "InvalidPublicKey",
        "KeyBindingRequired",
        "AccountExists",
        "IdempotencyKeyReused",
        "DeploymentFailed",
      ],
      handler: async ({ body }, call) => {
        const request = {
          login: fromLogin(body),
          chainName: body.chainName,
          userKey: fromUserKey(body.userKey, "/userKey"),
          idempotencyKey: call.idempotencyKey,
        };
        await faultPoint("sign-up accepted");
        const answer = await withLoginPointers("", signUp.signUp(request, { call, deadlineMs: DEADLINES.signUp }));
        await faultPoint("before answer");
        return toSignedIn(answer);
      },
    }),
    route({
      method: "post",
      path: "/auth/v1/token/refresh",
      operationId: "refreshToken",
      summary: "Exchanges a refresh token for the next pair of tokens",
      token: "none",
      limit: "refresh",
      request: { body: z.object({ refreshToken: requiredText(8_192), proof: hexBytes(256).optional() }) },
      response: z.object({ credentials: credentialsSchema }),
      errors: ["InvalidRefreshToken", "SessionEnded", "RefreshTokenReused", "RefreshProofRequired", "InvalidSignature"],
      handler: async ({ body }, call) => {
        const request = { refreshToken: body.refreshToken, proof: body.proof ?? Buffer.alloc(0) };
        const { credentials } = await sessions.refreshToken(request, { call, deadlineMs: DEADLINES.unary });
        return { credentials: toCredentials(credentials) };
      },
    }),
    route({
      method: "post",
      path: "/auth/v1/signout",
      operationId: "signOut",
      summary: "Ends the session of the token",
      token: "user",
      recover: true,
      handler: async (_input, call) => {
        await sessions.signOut({}, { call, deadlineMs: DEADLINES.unary });
        return undefined;
      },
    }),
    route({
      method: "get",
      path: "/auth/v1/sessions",
      operationId: "listSessions",
      summary: "The account's live sessions, newest first",
      token: "user",
      recover: true,
      response: z.object({ sessions: z.array(sessionSchema) }),
      handler: async (_input, call) => {
        const answer = await sessions.listSessions({}, { call, deadlineMs: DEADLINES.unary });
        return { sessions: answer.sessions.map(toSession) };
      },
    }),
    route({
      method: "delete",
      path: "/auth/v1/sessions/{id}",
      operationId: "endSession",
      summary: "Ends one session of the account",
      token: "user",
      request: { params: z.object({ id: uuid() }) },
      errors: ["SessionNotFound"],
      handler: async ({ params }, call) => {
        await sessions.endSession({ sessionId: params.id }, { call, deadlineMs: DEADLINES.unary });
        return undefined;
      },
    }),
    route({
      method: "delete",
      path: "/auth/v1/sessions",
      operationId: "endOtherSessions",
      summary: "Ends every session of the account but the caller's own",
      token: "user",
      handler: async (_input, call) => {
        await sessions.endOtherSessions({}, { call, deadlineMs: DEADLINES.unary });
        return undefined;
      },
    }),
  ];
}
