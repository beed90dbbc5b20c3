import { AppError, insufficientScope, type VerifiedToken } from "@countersign/core";

/**
 * Which token opens a route: none at all; a full session's that may be left out, and that the service behind
 * judges; a full session's; or, for signing, an ephemeral one as well.
 */
export type TokenKind = "none" | "optional" | "user" | "ephemeral";

/**
 * Verifies access tokens. Errors: InvalidAccessToken, AccessTokenExpired, SessionEnded, and Unavailable while
 * it cannot know.
 */
export interface TokenVerifier {
  verify(raw: string): VerifiedToken;
}

/** A token as it came, for the services to verify, and what it says where the gateway has verified it. */
export interface Session {
  token?: VerifiedToken;
  raw: string;
}

/** What of a route decides about tokens. `recover`: sessions of a recovery key may use it too. */
export interface TokenRule {
  token: TokenKind;
  recover: boolean;
}

// RFC 6750, section 2.1.
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;
const MAX_TOKEN_LENGTH = 8_192;

/**
 * Verifies the Bearer token of the Authorization headers, of which there may be one, against a route's rule.
 * Errors: Unauthenticated, InvalidAccessToken, AccessTokenExpired, SessionEnded, InsufficientScope.
 */
export function authenticate(
  rule: TokenRule,
  authorizations: readonly string[],
  verifier: TokenVerifier,
): Session | undefined {
  if (rule.token === "none") return undefined;
  if (rule.token === "optional") return optionalSession(authorizations);
  // With two, whatever stands before us may have judged the other one.
  if (authorizations.length > 1) throw new AppError("InvalidAccessToken", { detail: "Send one Authorization header" });
  const [authorization] = authorizations;
  if (authorization === undefined || authorization === "") {
    throw new AppError("Unauthenticated", { detail: "Send Authorization: Bearer <access token>" });
  }
  const raw = bearerToken(authorization);
  if (raw === undefined)
    throw new AppError("InvalidAccessToken", { detail: "The Authorization header is no Bearer token" });
  const token = verifier.verify(raw);
  const allowed = allowedScopes(rule);
  if (!allowed.includes(token.scope)) throw insufficientScope(allowed, token.scope);
  return { token, raw };
}

/** Returns what is sent as a token, unverified: a stale one must not fail a request that needs none. */
function optionalSession([authorization = "", ...others]: readonly string[]): Session | undefined {
  const raw = others.length === 0 ? bearerToken(authorization) : undefined;
  return raw === undefined ? undefined : { raw };
}

const bearerToken = (authorization: string): string | undefined =>
  authorization.length <= MAX_TOKEN_LENGTH ? BEARER.exec(authorization)?.[1] : undefined;

/** Every scope that a session's token may have. */
export const SCOPES: readonly VerifiedToken["scope"][] = ["full", "sign", "recover"];

/** The scopes whose tokens open a route. */
export function allowedScopes(rule: TokenRule): VerifiedToken["scope"][] {
  const scopes: VerifiedToken["scope"][] = ["full"];
  if (rule.token === "ephemeral") scopes.push("sign");
  if (rule.recover) scopes.push("recover");
  return scopes;
}
