import { AppError } from "@countersign/core";
import { LoginMethod, type LoginToken } from "@countersign/proto/auth/v1/login.ts";
import { z } from "zod";
import { optionalText, requiredText } from "../../http/validation.ts";

const METHODS = {
  id_token_channel: LoginMethod.LOGIN_METHOD_ID_TOKEN_CHANNEL,
  redirect_code_channel: LoginMethod.LOGIN_METHOD_REDIRECT_CODE_CHANNEL,
} as const;

const method = z.enum(["id_token_channel", "redirect_code_channel"]);
const token = requiredText(16_384);

/** What may stand beside `method` and `token`. */
const extras = {
  provider: optionalText(),
  redirectUri: optionalText(2_048),
  codeVerifier: optionalText(128),
  nonce: optionalText(),
};

/** The members of a body that carries a login token. */
export const loginMembers = { method, token, ...extras };

/** The same where AUTH_REQUIRE_LOGIN_TOKEN is false, in development. */
export const optionalLoginMembers = { method: method.optional(), token: optionalText(16_384), ...extras };

/**
 * Waits for a call whose request carries a login. Auth names members of the login `/login/…`; `parent` is
 * where the body has them. Errors: those of the call, with the body's pointers.
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

interface LoginBody {
  method?: keyof typeof METHODS | undefined;
  token: string;
  provider: string;
  redirectUri: string;
  codeVerifier: string;
  nonce: string;
}

/** The contract's form of a body's login token. */
export function fromLogin({ method, token, provider, redirectUri, codeVerifier, nonce }: LoginBody): LoginToken {
  return {
    method: method === undefined ? LoginMethod.LOGIN_METHOD_UNSPECIFIED : METHODS[method],
    token,
    provider,
    redirectUri,
    codeVerifier,
    nonce,
  };
}
