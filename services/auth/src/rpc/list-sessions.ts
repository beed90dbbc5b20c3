import type { Clock } from "@countersign/core";
import type { SessionsService } from "@countersign/proto/auth/v1/sessions.ts";
import { type Handler, publicKeyToProto, requireToken } from "@countersign/rpc";
import type { SessionStore } from "../domain/ports.ts";

/** auth.v1.Sessions/ListSessions */
export const listSessionsRpc =
  (sessions: Pick<SessionStore, "list">, clock: Clock): Handler<SessionsService["listSessions"]> =>
  async (_, call) => {
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
  };
