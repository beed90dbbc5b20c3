import { AppError } from "./app-error.ts";
import { isPostgresLost } from "./postgres-lost.ts";

/**
 * Returns the error that a caller may see: an AppError unchanged, Unavailable for a lost connection to
 * Postgres, and Internal for everything else. The original error is kept as `cause` for the log.
 */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  return new AppError(isPostgresLost(error) ? "Unavailable" : "Internal", { cause: error });
}
