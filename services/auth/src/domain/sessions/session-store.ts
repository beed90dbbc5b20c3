import type { EndCause, Session } from "./session.ts";

export interface SessionStore {
  /** Begins a session and, in the same commit, ends the one that the same device had of the same app. */
  begin(session: Session, requestId: string): Promise<void>;
  /**
   * Runs `work` with the live session locked and stores its `next`. Undefined where there is no live session.
   */
  update<T>(
    id: string,
    work: (session: Session) => { next?: Session; end?: EndCause; result: T },
    now: Date,
    requestId: string,
  ): Promise<T | undefined>;
  list(accountId: string, now: Date): Promise<Session[]>;
  /** Ends live sessions of the account and returns how many. */
  end(
    accountId: string,
    which: { id: string } | { allBut: string },
    cause: EndCause,
    now: Date,
    requestId: string,
  ): Promise<number>;
}
