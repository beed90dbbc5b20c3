import { AppError, isUuid } from "@countersign/core";
import type { SessionsService } from "@countersign/proto/auth/v1/sessions.ts";
import { type Handler, requireToken } from "@countersign/rpc";
import type { endOtherSessions, endSession, signOut } from "../domain/sessions/end-session.ts";

/** auth.v1.Sessions/SignOut */
export const signOutRpc =
  (command: ReturnType<typeof signOut>): Handler<SessionsService["signOut"]> =>
  async (_, call) => {
    await command(requireToken(call), call.requestId);
    return {};
  };

/** auth.v1.Sessions/EndSession */
export const endSessionRpc =
  (command: ReturnType<typeof endSession>): Handler<SessionsService["endSession"]> =>
  async ({ sessionId }, call) => {
    if (!isUuid(sessionId)) throw new AppError("SessionNotFound");
    await command(requireToken(call), sessionId, call.requestId);
    return {};
  };

/** auth.v1.Sessions/EndOtherSessions */
export const endOtherSessionsRpc =
  (command: ReturnType<typeof endOtherSessions>): Handler<SessionsService["endOtherSessions"]> =>
  async (_, call) => {
    await command(requireToken(call), call.requestId);
    return {};
  };
