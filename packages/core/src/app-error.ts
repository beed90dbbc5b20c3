import { isPostgresLost } from "./postgres-lost.ts";
import { REASONS, type Reason } from "./reasons.ts";

/** One field that is not valid; `pointer` is a JSON pointer (RFC 6901) into the request. */
export interface FieldError {
  pointer: string;
  detail: string;
}

export interface AppErrorOptions {
  /**
   * Shown to people and sent to the client, so it must contain nothing secret. Default: the reason's title.
   */
  detail?: string | undefined;
  fields?: readonly FieldError[] | undefined;
  /** Seconds after which the same request may succeed. */
  retryAfterSeconds?: number | undefined;
  /** Additional machine-readable members; sent to the client. */
  metadata?: Readonly<Record<string, string>> | undefined;
  /** The underlying error; logged, never sent. */
  cause?: unknown;
}

/**
 * An error that a client may see: one reason of the closed table. Any other thrown error becomes `Internal`.
 */
export class AppError extends Error {
  readonly reason: Reason;
  readonly detail: string;
  readonly fields: readonly FieldError[];
  readonly retryAfterSeconds: number | undefined;
  readonly metadata: Readonly<Record<string, string>>;

  constructor(reason: Reason, options: AppErrorOptions = {}) {
    const detail = options.detail ?? REASONS[reason].title;
    super(`${reason}: ${detail}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "AppError";
    this.reason = reason;
    this.detail = detail;
    this.fields = options.fields ?? [];
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.metadata = options.metadata ?? {};
  }
}

/** Returns whether `error` is an AppError, optionally of one of these reasons. */
export function isAppError(error: unknown, ...reasons: Reason[]): error is AppError {
  return error instanceof AppError && (reasons.length === 0 || reasons.includes(error.reason));
}

/**
 * Returns the error that a caller may see: an AppError unchanged, Unavailable for a lost connection to
 * Postgres, and Internal for everything else. The original error is kept as `cause` for the log.
 */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  return new AppError(isPostgresLost(error) ? "Unavailable" : "Internal", { cause: error });
}

export const invalidFields = (fields: readonly FieldError[]): AppError =>
  new AppError("InvalidRequest", { detail: "Some fields are not valid", fields });

export const invalidField = (pointer: string, detail: string): AppError => invalidFields([{ pointer, detail }]);
