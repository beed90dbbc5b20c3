import type { Problem } from "@countersign/http-api/resources.ts";

/**
 * The codes of errors: the closed list of this version's server, and any other text, since a later one may
 * have more. Code must treat an unknown one by its `status`.
 * @example const isFrozen = (reason: ProblemReason) => reason === "AccountFrozen";
 */
export type ProblemReason = Problem["error"] | "Unknown" | (string & {});

/** One field that the server rejected. */
export interface FieldProblem {
  /** Where in the body (RFC 6901), such as `/userKey/publicKey`. */
  pointer: string;
  /** Its problem, in English. */
  detail: string;
}

/** Answers of other programs have errors of other forms. */
const isFieldProblem = (value: Partial<FieldProblem> | null): value is FieldProblem =>
  typeof value?.pointer === "string" && typeof value.detail === "string";

/**
 * The server's error answer: a problem document (RFC 9457).
 * @example
 * const isFrozen = (error: unknown) => error instanceof ProblemError && error.error === "AccountFrozen";
 */
export class ProblemError extends Error {
  override readonly name: string = "ProblemError";
  /** HTTP status. */
  readonly status: number;
  /** The stable code, such as `PleaseRegisterKey`; `Unknown` where the answer was no problem document. */
  readonly error: ProblemReason;
  /** For SigningRefused: the rule that rejected; "" otherwise. */
  readonly reason: string;
  /** One sentence for every error of this code, in English. */
  readonly title: string;
  /** The problem of this request, in English. */
  readonly detail: string;
  /** For the server's logs. */
  readonly requestId: string;
  /** For InvalidRequest: the fields that are wrong. */
  readonly errors: FieldProblem[];
  /** For TimeLockRequired: when the same request is granted (ISO 8601); "" otherwise. See `client.clock`. */
  readonly availableAt: string;
  /** For TimeLockRequired: the id of the time lock, to cancel it; "" otherwise. */
  readonly timeLockId: string;
  /** From Retry-After, if there was one. */
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, document: Partial<Record<string, unknown>>, retryAfter: string | null) {
    const text = (name: string) => (typeof document[name] === "string" ? (document[name] as string) : "");
    const error = text("error") || "Unknown";
    const reason = text("reason");
    const detail =
      text("detail") ||
      text("title") ||
      (error === "Unknown" ? "not an answer of the service: check baseUrl, and the proxies before it" : "");
    const errors = Array.isArray(document.errors) ? document.errors.filter(isFieldProblem) : [];
    const fields = errors.map((each) => `${each.pointer} ${each.detail}`).join("; ");
    super(`${status} ${error}${reason && ` (${reason})`}: ${detail}${fields && `: ${fields}`}`);
    this.status = status;
    this.error = error;
    this.reason = reason;
    this.title = text("title");
    this.detail = text("detail");
    this.requestId = text("instance");
    this.availableAt = text("availableAt");
    this.timeLockId = text("timeLockId");
    this.errors = errors;
    const seconds = retryAfter === null ? Number.NaN : Number(retryAfter);
    this.retryAfterSeconds = Number.isFinite(seconds) ? seconds : undefined;
  }
}

/**
 * The session is over: it was ended, has expired, or its refresh token is of no use any more. The client has
 * dropped the tokens; only signing in opens another session.
 * @example
 * const isOver = (error: unknown) => error instanceof SessionEndedError;
 */
export class SessionEndedError extends ProblemError {
  override readonly name = "SessionEndedError";
}

const SESSION_ENDED: ReadonlySet<unknown> = new Set(["SessionEnded", "InvalidRefreshToken", "RefreshTokenReused"]);

/** The part of a response that an error is made of. */
export interface ErrorAnswer {
  status: number;
  headers: { get(name: string): string | null };
  json(): Promise<unknown>;
}

/** Makes the error of an answer that is not a success, also where its body is no problem document. */
export async function toProblemError(response: ErrorAnswer): Promise<ProblemError> {
  const document = await response.json().catch(() => ({}));
  const members = typeof document === "object" && document !== null ? (document as Record<string, unknown>) : {};
  const Kind = response.status === 401 && SESSION_ENDED.has(members.error) ? SessionEndedError : ProblemError;
  return new Kind(response.status, members, response.headers.get("retry-after"));
}
