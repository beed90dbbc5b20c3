import { AccessApiError, DeadlineError } from "@countersign/flow";
import { ProblemError } from "./problem-error.ts";

/**
 * When the client sends a request again by itself: only where its answer was lost (no network, no answer in
 * time, 502 or above), and where doing it twice is the same as doing it once.
 *
 * - `repeat`: up to three times. Reading, and changes that are the same when made twice.
 * - `remove`: the same; where a repetition finds nothing any more, the first one has done it.
 * - `refresh`: up to three times, all of them begun within 20 seconds: a refresh token may be repeated for 30
 *   seconds, and any later reuse ends the session.
 * - `with-key`: as `repeat` where the caller gave an `idempotencyKey`; else once.
 * - `wait`: until the server's answer is final or the signal aborts; for events, until the session is over.
 * - `once`: never. The caller decides, after reading what became of it.
 */
export type RetryRule = "repeat" | "remove" | "refresh" | "with-key" | "wait" | "once";

/**
 * The rule of every operation that the client sends.
 * @example RETRY_RULES.signUp; // "with-key"
 */
export const RETRY_RULES = {
  signUp: "with-key",
  requestChallenge: "repeat",
  respondChallenge: "once",
  requestTwoFactor: "with-key",
  finishTwoFactor: "wait",
  twoFactor: "repeat",
  pendingTwoFactor: "repeat",
  redirectTwoFactor: "once",
  rejectTwoFactor: "once",
  approveTwoFactor: "once",
  reopenTwoFactor: "repeat",
  freeze: "repeat",
  unfreeze: "once",
  refresh: "refresh",
  signOut: "repeat",
  identityToken: "repeat",
  sessions: "repeat",
  endSession: "remove",
  endOtherSessions: "repeat",
  me: "repeat",
  networks: "repeat",
  linkParent: "repeat",
  serverKeyRotations: "repeat",
  submitServerKeyRotation: "once",
  devices: "repeat",
  updateDevice: "repeat",
  removeDevice: "remove",
  keys: "repeat",
  registerRecoveryKey: "repeat",
  timeLocks: "repeat",
  cancelTimeLock: "remove",
  reportRevocation: "repeat",
  events: "wait",
  signTransaction: "once",
  signPaymaster: "once",
  signUserMessage: "once",
  signAccountProof: "once",
  /** To the chain: the same bytes again until the signal aborts, since they run once. */
  submitTransaction: "wait",
  /** Of a transaction's result. */
  waitForTransaction: "wait",
} as const satisfies Record<string, RetryRule>;

/** The name of an operation in `RETRY_RULES`. */
export type Operation = keyof typeof RETRY_RULES;

const TRIES = 3;
const FIRST_WAIT_MS = 250;
/** No try begins later than this after the first: the person waits, and a refresh token must not get old. */
const LAST_TRY_MS = 20_000;

/** Returns whether nothing is known of what became of a request. Proxies have their own statuses, as 522. */
export function isAnswerLost(error: unknown): boolean {
  if (error instanceof ProblemError) return error.status >= 502;
  if (error instanceof AccessApiError) return error.status === 0 || error.status === 429 || error.status >= 500;
  // fetch rejects with TypeError where there is no connection.
  return error instanceof TypeError || error instanceof DeadlineError;
}

/** How often a request was sent, and when the first time. */
export interface Tries {
  rule: RetryRule;
  count: number;
  elapsedMs: number;
}

/** Returns the milliseconds until the next try; undefined where there is none. */
export function retryWaitMs(error: unknown, { rule, count, elapsedMs }: Tries): number | undefined {
  if (rule === "once" || rule === "wait" || rule === "with-key" || count >= TRIES || !isAnswerLost(error)) return;
  const asked = error instanceof ProblemError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
  const waitMs = Math.max(asked, FIRST_WAIT_MS * 4 ** (count - 1) * (0.5 + Math.random() / 2));
  return elapsedMs + waitMs <= LAST_TRY_MS ? waitMs : undefined;
}
