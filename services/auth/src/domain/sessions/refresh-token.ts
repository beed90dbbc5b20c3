import { AppError, type Clock, uuidv4 } from "@countersign/core";
import { verifySignature } from "@countersign/keys/node";
import { type Credentials, judgeRefresh, rotate, type Session, type SessionStore } from "./session.ts";

export interface RefreshTokenIds {
  readonly sessionId: string;
  readonly accountId: string;
  readonly refreshId: string;
}

export interface RefreshTokenOptions {
  readonly sessions: SessionStore;
  readonly clock: Clock;
  /**
   * Returns the ids in a refresh token of ours, "expired" for one that was ours, "access-token" for what
   * looks like an access token, and undefined for anything else.
   */
  read(token: string): Promise<RefreshTokenIds | "expired" | "access-token" | undefined>;
  issue(session: Session): Promise<Credentials>;
}

/** Returns the bytes that a proof signs: the prefix keeps them apart from challenges and transactions. */
export const refreshProofMessage = (refreshToken: string): Uint8Array =>
  new TextEncoder().encode(`countersign-token-refresh\n${refreshToken}`);

type Verdict =
  | { session: Session }
  | { error: "RefreshTokenReused" | "RefreshProofRequired" | "InvalidSignature" | "SessionEnded" };

/**
 * Exchanges a refresh token for the next pair. A retry of the last used one gets the same successor for 30
 * seconds while that is unused; any other reuse ends the session, and is answered RefreshTokenReused once.
 * After that, and after any other end of the session, its tokens are answered SessionEnded. Only the holder
 * of a token that auth signed learns either.
 * Errors: InvalidRefreshToken, SessionEnded, RefreshTokenReused, RefreshProofRequired, InvalidSignature.
 *
 * Writes: the session's next refresh id, or the session's end with its event, in one commit.
 * Crash: after the commit, the same token gets the same successor for 30 seconds; then it counts as reused.
 * Race: the session's row is locked meanwhile; the second of two calls gets the successor of the first.
 */
export const refreshToken =
  ({ sessions, clock, read, issue }: RefreshTokenOptions) =>
  async (
    token: string,
    proof: Uint8Array,
    requestId: string,
    accountFound: (accountId: string) => void = () => undefined,
  ): Promise<Credentials> => {
    const ids = await read(token);
    if (!ids) throw new AppError("InvalidRefreshToken");
    if (ids === "access-token") {
      throw new AppError("InvalidRefreshToken", {
        detail: "This operation takes a refresh token; an access token was sent",
      });
    }
    if (ids === "expired") throw new AppError("SessionEnded");
    const now = clock.now();
    const verdict = await sessions.update<Verdict>(
      { id: ids.sessionId, accountId: ids.accountId },
      (session) => {
        accountFound(session.accountId);
        if (now >= session.refreshExpiresAt || now >= session.expiresAt) return { result: { error: "SessionEnded" } };
        const judged = judgeRefresh(session, ids.refreshId, now);
        if (judged === "reused") return { end: "refresh-token-reused", result: { error: "RefreshTokenReused" } };
        if (proof.length === 0 && session.proofRequired) return { result: { error: "RefreshProofRequired" } };
        if (proof.length > 0 && !verifySignature(session.deviceKey, refreshProofMessage(token), proof)) {
          return { result: { error: "InvalidSignature" } };
        }
        const proofRequired = session.proofRequired || proof.length > 0;
        const next = { ...(judged === "rotate" ? rotate(session, uuidv4(), now) : session), proofRequired };
        return { next, result: { session: next } };
      },
      now,
      requestId,
    );
    if (!verdict) throw new AppError("SessionEnded");
    if ("error" in verdict) throw new AppError(verdict.error);
    return issue(verdict.session);
  };
