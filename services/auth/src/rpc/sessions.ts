import { AppError, type Clock, invalidField, isUuid, type VerifiedToken } from "@countersign/core";
import type { SessionsService } from "@countersign/proto/auth/v1/sessions.ts";
import { accountOf, type Handlers, publicKeyToProto, requireToken } from "@countersign/rpc";
import type { Limit } from "../domain/limit.ts";
import { endOtherSessions, endSession, signOut } from "../domain/sessions/end-session.ts";
import { type RefreshTokenOptions, refreshToken } from "../domain/sessions/refresh-token.ts";
import type { SessionStore } from "../domain/sessions/session.ts";
import { nameFrom } from "./conversions.ts";

const MAX_TOKEN_CHARS = 8192;
const MAX_PROOF_BYTES = 256;

interface SessionsOptions extends RefreshTokenOptions {
  readonly sessions: SessionStore;
  readonly clock: Clock;
  readonly refreshLimit: Limit;
  issueIdentity(token: VerifiedToken, nonce: string): Promise<{ identityToken: string; expiresAt: Date }>;
}

/** Handles auth.v1.Sessions. */
export function sessionsHandlers(options: SessionsOptions): Handlers<SessionsService> {
  const { sessions, clock, refreshLimit, issueIdentity } = options;
  const refresh = refreshToken(options);
  const end = endSession(options);
  const endOthers = endOtherSessions(options);
  const signOutOwn = signOut(options);
  return {
    async refreshToken({ refreshToken: token, proof }, call) {
      if (token.length > MAX_TOKEN_CHARS || proof.length > MAX_PROOF_BYTES) throw new AppError("InvalidRefreshToken");
      await refreshLimit(call);
      return { credentials: await refresh(token, proof, call.requestId, accountOf(call)) };
    },

    async issueIdentityToken({ nonce }, call) {
      if (nonce === "") throw invalidField("/nonce", "is missing");
      return issueIdentity(requireToken(call), nameFrom(nonce, "/nonce"));
    },

    async signOut(_, call) {
      await signOutOwn(requireToken(call), call.requestId);
      return {};
    },

    async listSessions(_, call) {
      const { accountId, sessionId } = requireToken(call);
      const live = await sessions.list(accountId, clock.now());
      return {
        sessions: live.map(({ id, app, deviceKey, createdAt, lastUsedAt, expiresAt }) => ({
          id,
          app,
          deviceKey: publicKeyToProto(deviceKey),
          createdAt,
          lastUsedAt,
          expiresAt,
          current: id === sessionId,
        })),
      };
    },

    async endSession({ sessionId }, call) {
      if (!isUuid(sessionId)) throw new AppError("SessionNotFound");
      await end(requireToken(call), sessionId, call.requestId);
      return {};
    },

    async endOtherSessions(_, call) {
      await endOthers(requireToken(call), call.requestId);
      return {};
    },
  };
}
