import { AppError } from "@countersign/errors";
import type { VerifiedToken } from "@countersign/service-kit";

/**
 * Which token opens a route: none at all; one that may be left out; a full session's; or, for signing, an ephemeral one as well.
 */
export type TokenKind = "none" | "optional" | "user" | "ephemeral";

/** Verifies access tokens. Errors: InvalidAccessToken, AccessTokenExpired, SessionEnded, and Unavailable while it cannot know. */
export interface TokenVerifier {
  verify(raw: string): VerifiedToken;
}

/** A verified token, and the same as it came, for the services to verify again. */
export interface Session {
  token: VerifiedToken;
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
  // With two, whatever stands before us may have judged the other one.
  if (authorizations.length > 1) throw new AppError("InvalidAccessToken", { detail: "Send one Authorization header" });
  const [authorization] = authorizations;
  if (authorization === undefined || authorization === "") {
    if (rule.token === "optional") return undefined;
    throw new AppError("Unauthenticated", { detail: "Send Authorization: Bearer <access token>" });
  }
  const raw = authorization.length <= MAX_TOKEN_LENGTH ? BEARER.exec(authorization)?.[1] : undefined;
  if (raw === undefined)
    throw new AppError("InvalidAccessToken", { detail: "The Authorization header is no Bearer token" });
  const token = verifier.verify(raw);
  if (!allowedScopes(rule).includes(token.scope)) throw new AppError("InsufficientScope");
  return { token, raw };
}

/** Every scope that a session's token may have. */
export const SCOPES: readonly VerifiedToken["scope"][] = ["full", "sign", "recover"];

/** The scopes whose tokens open a route. */
export function allowedScopes(rule: TokenRule): VerifiedToken["scope"][] {
  const scopes: VerifiedToken["scope"][] = ["full"];
  if (rule.token === "ephemeral") scopes.push("sign");
  if (rule.recover) scopes.push("recover");
  return scopes;
}
