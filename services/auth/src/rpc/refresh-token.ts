import { AppError } from "@countersign/core";
import type { SessionsService } from "@countersign/proto/auth/v1/sessions.ts";
import type { Handler } from "@countersign/rpc";
import type { refreshToken } from "../domain/sessions/refresh-token.ts";
import type { Limit } from "./limits.ts";

const MAX_TOKEN = 8192;
const MAX_PROOF_BYTES = 256;

/** auth.v1.Sessions/RefreshToken */
export const refreshTokenRpc =
  (command: ReturnType<typeof refreshToken>, limit: Limit): Handler<SessionsService["refreshToken"]> =>
  async ({ refreshToken: token, proof }, call) => {
    if (token.length > MAX_TOKEN || proof.length > MAX_PROOF_BYTES) throw new AppError("InvalidRefreshToken");
    await limit(call);
    return { credentials: await command(token, proof, call.requestId) };
  };
