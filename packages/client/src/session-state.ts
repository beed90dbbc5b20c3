import type { SessionEndedError } from "./problem-error.ts";

/**
 * The states of a client's session.
 *
 * - `signed-out`: there is no session; signing up or in opens one.
 * - `signing-in`: a sign-up, a sign-in or the end of an enrollment is under way.
 * - `signed-in`: there are tokens.
 * - `ended`: the service ended the session, or its tokens are of no use any more; `endedBy` says why.
 * - `frozen`: signed in, but the account is frozen or under review: nothing is signed for it.
 */
export type SessionState = "signed-out" | "signing-in" | "signed-in" | "ended" | "frozen";

/** The events that may change the state. */
export type SessionStep = "sign-in" | "sign-in-failed" | "opened" | "signed-out" | "ended" | "frozen" | "unfrozen";

/** A step that a state does not name changes nothing. */
const TRANSITIONS: Readonly<Record<SessionState, Partial<Record<SessionStep, SessionState>>>> = {
  "signed-out": { "sign-in": "signing-in", opened: "signed-in" },
  "signing-in": { "sign-in-failed": "signed-out", opened: "signed-in" },
  "signed-in": { opened: "signed-in", "signed-out": "signed-out", ended: "ended", frozen: "frozen" },
  ended: { "sign-in": "signing-in", opened: "signed-in", "signed-out": "signed-out" },
  frozen: { opened: "signed-in", "signed-out": "signed-out", ended: "ended", unfrozen: "signed-in" },
};

/** Returns the state after a step. */
export const nextState = (state: SessionState, step: SessionStep): SessionState => TRANSITIONS[state][step] ?? state;

/** The session of a client, for an app to show and follow. */
export interface SessionView {
  /**
   * The state now.
   * @example if (client.session.state === "ended") show("Sign in again");
   */
  readonly state: SessionState;
  /**
   * The id of the account whose session this is; undefined without one.
   * @example const isMine = client.session.accountId === account.id;
   */
  readonly accountId: string | undefined;
  /**
   * How the session ended; undefined unless `state` is `ended`.
   * @example console.log(client.session.endedBy?.detail);
   */
  readonly endedBy: SessionEndedError | undefined;
  /**
   * Fulfilled once the tokens of the store are loaded; at once where the store answers at once.
   * @example await client.session.ready;
   */
  readonly ready: Promise<void>;
  /**
   * Calls `listener` after each change of `state` or `accountId`. Returns a function that unsubscribes. Both
   * need no `this`.
   * @example const stop = client.session.subscribe(() => show(client.session.state));
   */
  readonly subscribe: (listener: () => void) => () => void;
}
