import { AppError, REASONS } from "@countersign/core";
import type { Problem } from "@countersign/http-api/resources.ts";
import type { ErrorRequestHandler, Response } from "express";

/**
 * Returns the problem document of an error. Its `type` is the entry in the catalogue (docs/errors.md)
 * where `errorPage` is the URL of that.
 */
export function problemOf(error: AppError, requestId: string, errorPage?: string): Problem {
  const { http, title } = REASONS[error.reason];
  const problem: Problem = {
    type: errorPage ? `${errorPage}#${error.reason.toLowerCase()}` : `urn:countersign:error:${error.reason}`,
    title,
    status: http,
    detail: error.detail,
    instance: requestId,
    error: error.reason,
  };
  if (error.fields.length > 0) problem.errors = error.fields.map(({ pointer, detail }) => ({ pointer, detail }));
  if (error.metadata.reason !== undefined) problem.reason = error.metadata.reason;
  if (error.metadata.availableAt !== undefined) problem.availableAt = error.metadata.availableAt;
  if (error.metadata.timeLockId !== undefined) problem.timeLockId = error.metadata.timeLockId;
  return problem;
}

/** Sends an error as problem+json with its headers. */
export function sendProblem(response: Response, error: AppError): void {
  const problem = problemOf(error, response.locals.requestId as string, response.app.locals.errorPage);
  // For the log.
  response.locals.reason = problem.error;
  response.locals.rule = problem.reason;
  const retryAfterSeconds = error.retryAfterSeconds ?? (problem.status === 429 ? 1 : undefined);
  if (retryAfterSeconds !== undefined) {
    response.set("Retry-After", String(Math.max(1, Math.ceil(retryAfterSeconds))));
  }
  const challenge = bearerChallenge(problem, response.locals.takesToken === true);
  if (challenge !== undefined) response.set("WWW-Authenticate", challenge);
  response.status(problem.status).type("application/problem+json").send(JSON.stringify(problem));
}

/**
 * Returns the WWW-Authenticate of a problem with the request's access token (RFC 6750, section 3), and
 * undefined for any other problem, also a 401: clients refresh their tokens because of this header. On a
 * route that takes no access token, SessionEnded is about a refresh token in the body.
 */
function bearerChallenge({ error, title }: Problem, takesToken: boolean): string | undefined {
  const realm = 'Bearer realm="countersign"';
  // Section 3.1: no error code where the request had no token.
  if (error === "Unauthenticated") return realm;
  if (error === "InsufficientScope") return `${realm}, error="insufficient_scope", error_description="${title}"`;
  const isAboutToken =
    error === "InvalidAccessToken" || error === "AccessTokenExpired" || (error === "SessionEnded" && takesToken);
  return isAboutToken ? `${realm}, error="invalid_token", error_description="${title}"` : undefined;
}

/**
 * Answers every error with a problem document; one that is no AppError is answered as Internal, and is in the
 * request's line.
 */
export const handleProblems: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  // Of the router, for a broken %-sequence.
  const isBrokenPath = (error as { status?: unknown } | null | undefined)?.status === 400;
  const known = error instanceof AppError ? error : new AppError(isBrokenPath ? "InvalidRequest" : "Internal");
  if (known !== error && known.reason === "Internal") response.locals.failure = error;
  if (response.headersSent) return next(error);
  sendProblem(response, known);
};
