import { AppError, insufficientScope, limitIdOf, type TokenVerifier, type VerifiedToken } from "@countersign/core";

/**
 * The token that a route takes: none; `optional`, a full session's that may be absent and that the service
 * verifies; `user`, a full session's; `ephemeral`, for signing, a full session's or an ephemeral one.
 */
export type TokenKind = "none" | "optional" | "user" | "ephemeral";

/** A route's rule about tokens. `recover`: sessions of a recovery key may use it too. */
export interface TokenRule {
  token: TokenKind;
  recover: boolean;
}

// RFC 6750, section 2.1.
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;
const MAX_TOKEN_LENGTH = 8_192;

/** A request's token, and the account that it was verified to be of. */
export interface Authenticated {
  readonly rawToken?: string | undefined;
  readonly accountId?: string;
  readonly limitId?: string;
}

/**
 * Verifies the Bearer token of the Authorization headers, of which there may be one, by a route's rule,
 * and returns it. An optional token is returned unverified: an expired one must not fail a request that
 * needs none.
 * Errors: Unauthenticated, InvalidAccessToken, AccessTokenExpired, SessionEnded, InsufficientScope.
 */
export function authenticate(
  rule: TokenRule,
  authorizations: readonly string[],
  verifier: TokenVerifier,
): Authenticated {
  if (rule.token === "none") return {};
  const [authorization = "", ...others] = authorizations;
  if (rule.token === "optional") return others.length === 0 ? { rawToken: bearerToken(authorization) } : {};
  // A proxy before the gateway may have checked the other one.
  if (others.length > 0) throw new AppError("InvalidAccessToken", { detail: "Send one Authorization header" });
  if (authorization === "") {
    throw new AppError("Unauthenticated", { detail: "No access token: sign in, and send it as Authorization: Bearer" });
  }
  const rawToken = bearerToken(authorization);
  if (rawToken === undefined) {
    throw new AppError("InvalidAccessToken", { detail: "The Authorization header is no Bearer token" });
  }
  const token = verifier.verify(rawToken);
  const allowed = allowedScopes(rule);
  if (!allowed.includes(token.scope)) throw insufficientScope(allowed, token.scope);
  return { rawToken, accountId: token.accountId, limitId: limitIdOf(token) };
}

const bearerToken = (authorization: string): string | undefined =>
  authorization.length <= MAX_TOKEN_LENGTH ? BEARER.exec(authorization)?.[1] : undefined;

/** All scopes that an access token may have. */
export const SCOPES: readonly VerifiedToken["scope"][] = ["full", "sign", "recover"];

/** Returns the scopes whose tokens a route takes. */
export function allowedScopes(rule: TokenRule): VerifiedToken["scope"][] {
  const scopes: VerifiedToken["scope"][] = ["full"];
  if (rule.token === "ephemeral") scopes.push("sign");
  if (rule.recover) scopes.push("recover");
  return scopes;
}
