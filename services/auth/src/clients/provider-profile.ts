import type { LoginProfile } from "../domain/login.ts";
import { invalidLogin } from "./login-errors.ts";
import type { ProviderConfig } from "./providers-file.ts";

/** Claims about a person, of an ID token or of the userinfo endpoint. */
export type ProfileClaims = Readonly<Record<string, unknown>>;

/**
 * Returns a text claim; "" for one with NUL or lone surrogates, which neither protobuf nor Postgres stores.
 */
export const text = (value: unknown, limit: number): string =>
  typeof value === "string" && value.length <= limit && value.isWellFormed() && !value.includes("\0") ? value : "";

/** Returns a text claim of one line; "" for one with control characters, which the device service refuses. */
const line = (value: unknown, limit: number): string => {
  const found = text(value, limit);
  return /\p{Cc}/u.test(found) ? "" : found;
};

/** Returns an http(s) URL: people choose their own picture, and other people's clients show it. */
const webAddress = (value: unknown): string => {
  const address = text(value, 2048);
  return URL.canParse(address) && /^https?:$/.test(new URL(address).protocol) ? address : "";
};

/** Returns the e-mail address unless it is not verified. Some providers write booleans as text, or none. */
const emailOf = ({ email, email_verified: isVerified = true }: ProfileClaims): string =>
  isVerified === true || isVerified === "true" ? line(email, 320) : "";

/** Returns the profile of a login through this issuer. Errors: InvalidLoginToken. */
export function profileOf(
  issuer: ProviderConfig["issuer"],
  { appId, appName }: LoginProfile["app"],
  sub: unknown,
  claims: ProfileClaims,
  authTime: Date | undefined,
): LoginProfile {
  const subject = text(sub, 255);
  if (subject === "") throw invalidLogin("The token's subject is missing, empty, too long or not text");
  return {
    issuer,
    subject,
    email: emailOf(claims),
    name: line(claims.name, 256),
    picture: webAddress(claims.picture),
    app: { appId, appName },
    authTime,
  };
}

/** Returns a profile with what it lacks from the userinfo endpoint. */
export const withUserInfo = (profile: LoginProfile, claims: ProfileClaims): LoginProfile => ({
  ...profile,
  email: emailOf(claims),
  name: profile.name || line(claims.name, 256),
  picture: profile.picture || webAddress(claims.picture),
});
