import { invalidLogin } from "./login-errors.ts";
import { ProviderAnswerError, type ProviderFetch, TIMEOUT_S, unavailable } from "./provider-fetch.ts";
import type { ProfileClaims } from "./provider-profile.ts";

/**
 * Fetches the claims about the person of an access token from a userinfo endpoint (OpenID Connect Core,
 * section 5.3); returns undefined where it refuses the token.
 * Errors: InvalidLoginToken, IdentityProviderUnavailable.
 */
export async function fetchUserInfo(
  endpoint: string,
  providerFetch: ProviderFetch,
  accessToken: string,
  subject: unknown,
): Promise<ProfileClaims | undefined> {
  let answer: Response;
  let claims: unknown;
  try {
    answer = await providerFetch(endpoint, {
      headers: { authorization: `Bearer ${accessToken}`, accept: "application/json" },
      signal: AbortSignal.timeout(TIMEOUT_S * 1000),
    });
    claims = answer.status === 200 ? await answer.json() : undefined;
  } catch (cause) {
    const isAnswer = cause instanceof ProviderAnswerError || cause instanceof SyntaxError;
    throw isAnswer ? invalidLogin("The provider's userinfo answer is not valid") : unavailable(cause);
  }
  const { status, headers } = answer;
  if (status === 401 || status === 403) return undefined;
  if (status !== 200) throw unavailable(new Error(`userinfo answered ${status}`));
  const isJson = /^application\/json\s*(;|$)/i.test(headers.get("content-type") ?? "");
  if (!isJson || typeof claims !== "object" || claims === null || Array.isArray(claims)) {
    throw invalidLogin("The provider's userinfo answer is not JSON");
  }
  // Otherwise a token of another person could provide that person's profile (section 5.3.2).
  if (typeof subject !== "string" || (claims as ProfileClaims).sub !== subject) {
    throw invalidLogin("The provider's userinfo is about another person than the token");
  }
  return claims as ProfileClaims;
}
