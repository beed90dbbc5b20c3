import { AppError, readBody } from "@countersign/core";
import * as openid from "openid-client";

/** Of each request. */
export const TIMEOUT_S = 4;
const MAX_ANSWER_BYTES = 256 * 1024;
/** Names below localhost too: nobody can register them (RFC 6761, section 6.3). */
const LOOPBACK = /^(([\w-]+\.)*localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Thrown when the provider's answer is refused; the message says why. */
export class ProviderAnswerError extends Error {
  override readonly name = "ProviderAnswerError";
}

/**
 * Returns the error where the provider was not reached, or its answer concerns neither the token nor the
 * code.
 */
export const unavailable = (cause: unknown): AppError => new AppError("IdentityProviderUnavailable", { cause });

/** Returns the HTTP status of a refusal; undefined where there was none, or the answer itself was wrong. */
export function refusalStatus(cause: unknown): number | undefined {
  const isRefusal = cause instanceof openid.ResponseBodyError || cause instanceof openid.WWWAuthenticateChallengeError;
  if (isRefusal) return cause.status;
  return cause instanceof openid.ClientError && cause.cause instanceof Response ? cause.cause.status : undefined;
}

/** Returns whether the provider answered, and the answer is wrong; otherwise it was not reached. */
export function isBadAnswer(cause: unknown): boolean {
  if (!(cause instanceof openid.ClientError)) return false;
  if (cause.cause instanceof ProviderAnswerError) return true;
  return cause.code !== undefined && cause.code !== "OAUTH_TIMEOUT" && cause.code !== "OAUTH_ABORT";
}

/**
 * `fetch` for identity providers: https only (plain http to this machine where `allowInsecureHttp` says so),
 * no redirect is followed, an answer has at most 256 KiB, and a JWT in the place of JSON is refused, since
 * nobody verifies it.
 */
export const createProviderFetch =
  ({ allowInsecureHttp }: { allowInsecureHttp: boolean }) =>
  async (address: string | URL, init: RequestInit): Promise<Response> => {
    const { protocol, hostname, origin } = new URL(address);
    const isSafe = protocol === "https:" || (allowInsecureHttp && protocol === "http:" && LOOPBACK.test(hostname));
    if (!isSafe) throw new Error(`${origin} is not asked: only https is`);
    const response = await fetch(address, { ...init, redirect: "manual" });
    const { status, headers } = response;
    if (/^application\/(.+\+)?jwt\b/i.test(headers.get("content-type") ?? "")) {
      await response.body?.cancel();
      throw new ProviderAnswerError("the answer is a JWT; JSON is expected");
    }
    const body = await readBody(response.body, MAX_ANSWER_BYTES);
    if (!body) throw new ProviderAnswerError("the answer is longer than 256 KiB");
    return new Response(body.length === 0 ? null : body, { status, headers });
  };

export type ProviderFetch = ReturnType<typeof createProviderFetch>;
