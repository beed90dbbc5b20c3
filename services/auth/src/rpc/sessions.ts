import { AppError } from "@countersign/errors";
import type { SessionsService } from "@countersign/proto/auth/v1/sessions.ts";
import { type Clock, type Handlers, isUuid, publicKeyToProto, requireToken } from "@countersign/service-kit";
import type { endOtherSessions, endSession, signOut } from "../domain/end-session.ts";
import type { SessionStore } from "../domain/ports.ts";
import type { refreshToken } from "../domain/refresh-token.ts";

export interface SessionCommands {
  readonly refresh: ReturnType<typeof refreshToken>;
  readonly signOut: ReturnType<typeof signOut>;
  readonly endSession: ReturnType<typeof endSession>;
  readonly endOthers: ReturnType<typeof endOtherSessions>;
  readonly sessions: SessionStore;
  readonly clock: Clock;
}

const MAX_TOKEN = 8192;
const MAX_PROOF_BYTES = 256;

/** auth.v1.Sessions */
export const sessionsRpcs = (commands: SessionCommands): Handlers<SessionsService> => ({
  async refreshToken({ refreshToken, proof }, call) {
    if (refreshToken.length > MAX_TOKEN || proof.length > MAX_PROOF_BYTES) throw new AppError("InvalidRefreshToken");
    return { credentials: await commands.refresh(refreshToken, proof, call.requestId) };
  },
  async signOut(_, call) {
    await commands.signOut(requireToken(call), call.requestId);
    return {};
  },
  async listSessions(_, call) {
    const { accountId, sessionId } = requireToken(call);
    const sessions = await commands.sessions.list(accountId, commands.clock.now());
    return {
      sessions: sessions.map(({ id, app, deviceKey, createdAt, lastUsedAt, expiresAt }) => ({
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
    await commands.endSession(requireToken(call), sessionId, call.requestId);
    return {};
  },
  async endOtherSessions(_, call) {
    await commands.endOthers(requireToken(call), call.requestId);
    return {};
  },
});
