import { requiredText } from "@countersign/http-api/requests.ts";
import { Credentials, Session } from "@countersign/http-api/resources.ts";
import type { Session as WireSession } from "@countersign/proto/auth/v1/sessions.ts";
import { z } from "zod";
import type { Services } from "../clients.ts";
import { hexBytes, toTimestamp, uuid } from "../http/fields.ts";
import { type Route, route } from "../http/route.ts";
import { toCredentials } from "./mapping/account.ts";
import { toApp } from "./mapping/device.ts";
import { toPublicKey } from "./mapping/public-key.ts";
import { once, repeatable } from "./rpc.ts";

export const sessionRoutes = ({ sessions }: Services): Route[] => [
  route({
    method: "post",
    path: "/auth/v1/token/refresh",
    operationId: "refreshToken",
    summary: "Exchanges a refresh token for the next pair of tokens",
    token: "none",
    limit: "refresh",
    request: { body: z.object({ refreshToken: requiredText(8_192), proof: hexBytes(256).optional() }) },
    response: z.object({ credentials: Credentials }),
    errors: ["InvalidRefreshToken", "SessionEnded", "RefreshTokenReused", "RefreshProofRequired", "InvalidSignature"],
    handler: async ({ body: { refreshToken, proof = Buffer.alloc(0) } }, call) => {
      const { credentials } = await sessions.refreshToken({ refreshToken, proof }, once(call));
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
    handler: (_input, call) => sessions.signOut({}, repeatable(call)),
  }),
  route({
    method: "get",
    path: "/auth/v1/sessions",
    operationId: "listSessions",
    summary: "The account's live sessions, newest first",
    token: "user",
    recover: true,
    response: z.object({ sessions: z.array(Session) }),
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
    token: "user",
    request: { params: z.object({ id: uuid() }) },
    errors: ["SessionNotFound"],
    handler: ({ params }, call) => sessions.endSession({ sessionId: params.id }, repeatable(call)),
  }),
  route({
    method: "delete",
    path: "/auth/v1/sessions",
    operationId: "endOtherSessions",
    summary: "Ends every session of the account but the caller's own",
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
