import { AppError, type Reason } from "@countersign/core";
import { DeviceAttributes, type OptionalLogin } from "@countersign/http-api/requests.ts";
import { type Attestation, AttestationType, LoginMethod, type LoginToken } from "@countersign/proto/auth/v1/login.ts";
import type { z } from "zod";

/** The errors of an operation that verifies a login. */
export const LOGIN_ERRORS = [
  "InvalidLoginToken",
  "UnknownProvider",
  "IdentityProviderUnavailable",
  "UnknownChain",
  "RateLimited",
] as const satisfies readonly Reason[];

/** Returns the members of a login that only the identity provider's clients decide about. */
export const loginBeyondSchema = (parent: "" | "/request") => ({
  [`${parent}/redirectUri`]: "a code without it, where the provider has several clients or refuses the code",
  [`${parent}/codeVerifier`]: "a code without it, where the login used PKCE or no client works without",
});

/** As `loginBeyondSchema`, for an operation in which a login brings a new key. */
export const newKeyBeyondSchema = (parent: "" | "/request") => ({
  ...loginBeyondSchema(parent),
  ...Object.fromEntries(
    Object.keys(DeviceAttributes.shape).map((name) => [`/userKey/device/${name}`, "control characters"]),
  ),
});

/** The errors of an operation in which a login brings a new key. */
export const NEW_KEY_ERRORS = [
  ...LOGIN_ERRORS,
  "UnsupportedKey",
  "InvalidPublicKey",
  "KeyBindingRequired",
  "AttestationRequired",
  "InvalidAttestation",
] as const;

const METHODS = {
  id_token_channel: LoginMethod.LOGIN_METHOD_ID_TOKEN_CHANNEL,
  redirect_code_channel: LoginMethod.LOGIN_METHOD_REDIRECT_CODE_CHANNEL,
} as const;

/** Returns a body's login as auth.v1.LoginToken. */
export function fromLogin(login: z.output<typeof OptionalLogin>): LoginToken {
  const { method, token, provider, redirectUri, codeVerifier, nonce } = login;
  return {
    method: method === undefined ? LoginMethod.LOGIN_METHOD_UNSPECIFIED : METHODS[method],
    token,
    provider,
    redirectUri,
    codeVerifier,
    nonce,
  };
}

const ATTESTATION_TYPES = {
  "app-attest": AttestationType.ATTESTATION_TYPE_APP_ATTEST,
  "play-integrity": AttestationType.ATTESTATION_TYPE_PLAY_INTEGRITY,
} as const;

/** Returns a body's attestation as auth.v1.Attestation; undefined: the body has none. */
export const fromAttestation = (body: {
  attestationType?: keyof typeof ATTESTATION_TYPES | undefined;
  attestationKeyId: string;
  attestationToken: string;
}): Attestation | undefined =>
  body.attestationType && {
    type: ATTESTATION_TYPES[body.attestationType],
    keyId: body.attestationKeyId,
    token: body.attestationToken,
  };

/**
 * Waits for a call whose request carries a login. Auth names the members of a login `/login/…`; `parent`
 * is where the body has them. Errors: those of the call, with the body's pointers.
 */
export async function withLoginPointers<T>(parent: "" | "/request", call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof AppError) || error.fields.length === 0) throw error;
    const fields = error.fields.map(({ pointer, detail }) => ({
      pointer: pointer.replace(/^\/login(?=\/)/, parent),
      detail,
    }));
    const { reason, detail, metadata, retryAfterSeconds, cause } = error;
    throw new AppError(reason, { detail, fields, metadata, retryAfterSeconds, cause });
  }
}
