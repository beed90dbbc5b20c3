import type { PublicKey } from "@countersign/keys";

/** Who logged in, and through which of our apps. */
export interface LoginProfile {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string;
  readonly name: string;
  readonly picture: string;
  readonly app: App;
  /**
   * When the person proved who they are at the provider; undefined where the login does not say: then it is
   * not fresh.
   */
  readonly authTime: Date | undefined;
}

export interface App {
  readonly appId: string;
  readonly appName: string;
}

/** A login token as a client sent it; empty strings are what was not sent. */
export interface Login {
  readonly method: "id_token_channel" | "redirect_code_channel" | "";
  readonly token: string;
  readonly provider: string;
  readonly redirectUri: string;
  readonly codeVerifier: string;
  readonly nonce: string;
}

/**
 * Verifies a login token for the holder of these keys, the account key or the key that a challenge names
 * first. Errors: InvalidLoginToken, UnknownProvider, KeyBindingRequired, IdentityProviderUnavailable.
 */
export type VerifyLogin = (login: Login, keys: readonly PublicKey[]) => Promise<LoginProfile>;
