import type { PublicKey } from "@countersign/keys";

/** A person who logged in, and the app that they used. */
export interface LoginProfile {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string;
  readonly name: string;
  readonly picture: string;
  readonly app: App;
  /**
   * When the person authenticated at the provider; undefined where the login does not say: it is not fresh
   * then.
   */
  readonly authTime: Date | undefined;
}

export interface App {
  readonly appId: string;
  readonly appName: string;
}

/** A login token as a client sent it; "" for members that were not sent. */
export interface Login {
  readonly method: "id_token_channel" | "redirect_code_channel" | "";
  readonly token: string;
  readonly provider: string;
  readonly redirectUri: string;
  readonly codeVerifier: string;
  readonly nonce: string;
}

/**
 * Verifies a login token for the holder of these keys; the account key, or the key of a challenge, is the
 * first.
 * Errors: InvalidLoginToken, UnknownProvider, KeyBindingRequired, IdentityProviderUnavailable.
 */
export type VerifyLogin = (login: Login, keys: readonly PublicKey[]) => Promise<LoginProfile>;

/** A login that a code was exchanged for. */
export interface ExchangedLogin {
  readonly profile: LoginProfile;
  /** The ID token's, which may bind it to a key: each use of the code has keys of its own. */
  readonly nonce: string;
}

/** Remembers for ten minutes what a code was exchanged for. */
export interface ExchangedCodeStore {
  /**
   * Runs alone for this code among all replicas. Where nothing is remembered, it calls `exchange` and keeps
   * the answer. Otherwise it returns what is remembered, if the binding matches and a key was used before.
   * If not, it deletes what is remembered and returns undefined.
   */
  once(
    codeHash: string,
    used: { binding: string; keys: readonly string[] },
    exchange: () => Promise<ExchangedLogin>,
  ): Promise<ExchangedLogin | undefined>;
}

export interface IdentityStore {
  /** Returns the account of an identity. */
  accountOf(issuer: string, subject: string): Promise<string | undefined>;
  /** Returns the only account that signed up with this key; for development without login tokens. */
  accountByKey(key: PublicKey): Promise<string | undefined>;
  /** Returns the only account with this e-mail address; for development without login tokens. */
  accountByEmail(email: string): Promise<string | undefined>;
}

export interface ContactStore {
  /** Returns the e-mail address that the provider reported for each account; "" where there is none. */
  listEmails(accountIds: readonly string[]): Promise<string[]>;
  /** Returns the apps that an account signed up in or has sessions of; or the app of one of its sessions. */
  appsOf(accountId: string, sessionId?: string): Promise<string[]>;
}
