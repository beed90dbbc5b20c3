import { AppError, type Clock } from "@countersign/core";
import type { JWTPayload } from "jose";
import * as openid from "openid-client";
import { invalidLogin, quoted } from "./login-errors.ts";
import { isBadAnswer, refusalStatus, unavailable } from "./provider-fetch.ts";
import type { ProviderConfig } from "./providers-file.ts";

/** The oldest token that is accepted, and how far the provider's clock may be from ours. */
export const MAX_AGE_S = 600;
export const CLOCK_TOLERANCE_S = 30;

/**
 * Asks a provider about an opaque access token (RFC 7662) and returns its claims if it is active.
 * Errors: InvalidLoginToken, IdentityProviderUnavailable.
 */
export async function introspectToken(
  found: openid.Configuration,
  { name, issuer }: Pick<ProviderConfig, "name" | "issuer">,
  clock: Clock,
  token: string,
): Promise<JWTPayload> {
  if (!found.serverMetadata().introspection_endpoint) {
    throw new AppError("IdentityProviderUnavailable", { detail: "The provider publishes no introspection endpoint" });
  }
  let answer: openid.IntrospectionResponse;
  try {
    answer = await openid.tokenIntrospection(found, token, { token_type_hint: "access_token" });
  } catch (cause) {
    // Other statuses concern our credentials at the provider.
    const status = refusalStatus(cause);
    const isOfToken = status === undefined ? isBadAnswer(cause) : status === 400;
    throw isOfToken
      ? invalidLogin("The provider's answer about the access token is not valid", cause)
      : unavailable(cause);
  }
  const { active, iss, exp, iat, nbf, token_type: type } = answer;
  if (active !== true) {
    throw invalidLogin(
      `Provider "${name}" says that the token is not active: it has expired, was revoked, or is no access token`,
    );
  }
  if (iss !== undefined && iss !== issuer) throw invalidLogin(`The access token is of issuer ${quoted(iss)}`);
  if (type !== undefined && (typeof type !== "string" || type.toLowerCase() !== "bearer")) {
    throw invalidLogin(`The token's type is ${quoted(type)}, not Bearer`);
  }
  const now = clock.now().getTime() / 1000;
  if (typeof exp !== "number" || typeof iat !== "number") {
    throw invalidLogin(`Provider "${name}" does not say when the access token was issued and when it expires`);
  }
  if (!(exp > now - CLOCK_TOLERANCE_S)) throw invalidLogin("The access token has expired; log in again");
  if (!(iat > now - MAX_AGE_S - CLOCK_TOLERANCE_S)) {
    throw invalidLogin("The access token was issued more than 10 minutes ago; log in again");
  }
  const early = Math.max(iat, typeof nbf === "number" ? nbf : iat) - CLOCK_TOLERANCE_S;
  if (early > now) throw invalidLogin("The access token is not valid yet");
  return answer as JWTPayload;
}
