import { AppError, isUuid } from "@countersign/core";
import { isCanonicalPublicKey, KEY_ALGORITHMS } from "@countersign/keys";
import { z } from "zod";

export const ACCESS_TOKEN_TYPE = "at+jwt";
export const ACCESS_TOKEN_AUDIENCE = "countersign";
export const REFRESH_TOKEN_TYPE = "rt+jwt";
const MAX_LENGTH = 4_096;
/** The longest lifetime of our access tokens; a longer one is a mistake and is rejected. */
const MAX_LIFETIME_S = 3_600;

const uuid = z.string().refine(isUuid);
const seconds = z.int().nonnegative();
const key = z
  .object({ alg: z.enum(KEY_ALGORITHMS), key: z.string() })
  .transform(({ alg, key: publicKey }) => ({ algorithm: alg, publicKey }))
  .refine(isCanonicalPublicKey);

const claims = z
  .object({
    iss: z.string(),
    aud: z.string(),
    sub: uuid,
    client_id: z.string().min(1).max(256),
    sid: uuid,
    scope: z.enum(["full", "sign", "recover"]),
    jti: z.string().min(1).max(128),
    iat: seconds,
    exp: seconds,
    nbf: seconds.optional(),
    auth_time: seconds.optional(),
    session_key: key,
    account_key: key,
    /** The 2FA request that an ephemeral token belongs to. */
    two_factor: uuid.optional(),
  })
  .refine(({ scope, two_factor }) => (scope === "sign") === (two_factor !== undefined))
  .refine(({ iat, exp }) => exp > iat && exp - iat <= MAX_LIFETIME_S);

/** The claims of an access token, as auth signs them. */
export type AccessTokenClaims = z.output<typeof claims>;

const header = z.strictObject({
  alg: z.literal("ES256"),
  typ: z.literal(ACCESS_TOKEN_TYPE),
  kid: z.string().min(1).max(128),
});

const PARTS = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/;

/** Splits a compact JWS (RFC 7515, section 7.1) into its three parts. Errors: InvalidAccessToken. */
export function splitToken(raw: string): { header: string; payload: string; signature: string } {
  const [, head, payload, signature] = (raw.length <= MAX_LENGTH && PARTS.exec(raw)) || [];
  if (head === undefined || payload === undefined || signature === undefined) throw new AppError("InvalidAccessToken");
  // Only the canonical encoding: the unused bits of a last character could have any value.
  for (const part of [head, payload, signature]) {
    if (Buffer.from(part, "base64url").toString("base64url") !== part) throw new AppError("InvalidAccessToken");
  }
  return { header: head, payload, signature };
}

function json(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
  } catch {
    throw new AppError("InvalidAccessToken");
  }
}

/**
 * Requires exactly `alg`, `typ` and `kid`: other members, such as `crit` or `jwk`, could change what is
 * verified.
 */
export function parseHeader(part: string): { kid: string } {
  const value = json(part);
  const result = header.safeParse(value);
  if (!result.success) throw new AppError("InvalidAccessToken", { detail: otherKindOf(value) });
  return { kid: result.data.kid };
}

/** Describes an unverified header; only a hint for the sender. */
function otherKindOf(value: unknown): string | undefined {
  const typ = typeof value === "object" && value !== null && "typ" in value ? value.typ : undefined;
  if (typ === ACCESS_TOKEN_TYPE) return undefined;
  return typ === REFRESH_TOKEN_TYPE
    ? "This operation takes an access token; a refresh token was sent, which POST /auth/v1/token/refresh takes"
    : "This operation takes an access token of this service; another kind of token was sent";
}

/** Parses the claims. Errors: InvalidAccessToken. The caller checks the times. */
export function parseClaims(part: string, issuer: string): AccessTokenClaims {
  const result = claims.safeParse(json(part));
  if (!result.success || result.data.iss !== issuer || result.data.aud !== ACCESS_TOKEN_AUDIENCE) {
    throw new AppError("InvalidAccessToken");
  }
  return result.data;
}
