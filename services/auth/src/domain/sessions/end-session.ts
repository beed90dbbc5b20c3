import { AppError, type Clock, type VerifiedToken } from "@countersign/core";
import type { SessionStore } from "./session.ts";

interface EndSessionOptions {
  readonly sessions: SessionStore;
  readonly clock: Clock;
}

/** Ends the token's own session; ending it again changes nothing. */
export const signOut =
  ({ sessions, clock }: EndSessionOptions) =>
  async ({ accountId, sessionId }: VerifiedToken, requestId: string): Promise<void> => {
    await sessions.end(accountId, { id: sessionId }, "signed-out", clock.now(), requestId);
  };

/** Ends one session of the token's account. Errors: SessionNotFound. */
export const endSession =
  ({ sessions, clock }: EndSessionOptions) =>
  async ({ accountId }: VerifiedToken, id: string, requestId: string): Promise<void> => {
    const ended = await sessions.end(accountId, { id }, "ended-by-user", clock.now(), requestId);
    if (ended === 0) throw new AppError("SessionNotFound");
  };

/** Ends every session of the token's account but its own. */
export const endOtherSessions =
  ({ sessions, clock }: EndSessionOptions) =>
  async ({ accountId, sessionId }: VerifiedToken, requestId: string): Promise<void> => {
    await sessions.end(accountId, { allBut: sessionId }, "ended-by-user", clock.now(), requestId);
  };
