import { AppError, type Clock, type VerifiedToken } from "@countersign/core";
import type { SessionStore } from "./session.ts";

interface EndSessionOptions {
  readonly sessions: SessionStore;
  readonly clock: Clock;
}

/**
 * Ends the token's own session; ending it again changes nothing.
 *
 * Writes, here and below: the end of each session, its entry in the token state, and its event, in one
 * commit.
 * Crash: nothing or all of it is written; a repeated call ends what is left.
 * Race: a session ends once, by a conditional update. A session that begins meanwhile is not ended.
 */
export const signOut =
  ({ sessions, clock }: EndSessionOptions) =>
  async ({ accountId, sessionId }: VerifiedToken, requestId: string): Promise<void> => {
    await sessions.end(accountId, { id: sessionId }, "signed-out", clock.now(), requestId);
  };

/** Ends one session of the token's account. Errors: SessionNotFound, TimeLockContested (SessionStore.end). */
export const endSession =
  ({ sessions, clock }: EndSessionOptions) =>
  async ({ accountId, deviceKey: by }: VerifiedToken, id: string, requestId: string): Promise<void> => {
    const ended = await sessions.end(accountId, { id, by }, "ended-by-user", clock.now(), requestId);
    if (ended === 0) throw new AppError("SessionNotFound");
  };

/** Ends every session of the token's account but its own, and those that SessionStore.end keeps. */
export const endOtherSessions =
  ({ sessions, clock }: EndSessionOptions) =>
  async ({ accountId, sessionId, deviceKey: by }: VerifiedToken, requestId: string): Promise<void> => {
    await sessions.end(accountId, { allBut: sessionId, by }, "ended-by-user", clock.now(), requestId);
  };
