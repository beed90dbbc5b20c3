import type { CountersignClient } from "./countersign-client.ts";
import { ProblemError } from "./problem-error.ts";
import type { Login } from "./resources.ts";

/**
 * How old a login may be, in seconds, for a change of the recovery key: the `max_age` to log in with before
 * one.
 * @example const url = `${authorizeUrl}&max_age=${FRESH_LOGIN_MAX_AGE_SECONDS}`;
 */
export const FRESH_LOGIN_MAX_AGE_SECONDS = 300;

/** Options of `withFreshLogin`. */
export interface FreshLoginOptions {
  /** The chain to sign in on. */
  chainName: string;
  /**
   * Logs the person in at the identity provider, with `max_age` and `nonce` in the request (OpenID Connect
   * Core, section 3.1.2.1). Without `max_age` a provider need not say when the login was, which then counts
   * as too old.
   */
  logIn: (request: { maxAge: number; nonce: string }) => Promise<Login>;
}

/**
 * Does `work`; where the server answers LoginTooOld, has the person log in, signs in with that login, and
 * does it once more; not where that login is of another person with an account here. For key changes, whose
 * refusal leaves nothing done. A page that leaves for its provider's login cannot wait for a promise: it
 * catches LoginTooOld itself, and repeats the work when it is back and signed in.
 * @example
 * await withFreshLogin(client, { chainName, logIn: openLogin }, () =>
 *   sendKeyChange(client, { network, change: { template: "add-recovery-key", newKey } }),
 * );
 */
export async function withFreshLogin<Result>(
  client: CountersignClient,
  { chainName, logIn }: FreshLoginOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const { accountId } = client.session;
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ProblemError) || error.error !== "LoginTooOld") throw error;
    const login = await logIn({ maxAge: FRESH_LOGIN_MAX_AGE_SECONDS, nonce: client.loginNonce });
    await client.signIn({ login, chainName });
    // A change that one person asked for is never made in another's name.
    if (accountId !== undefined && client.session.accountId !== accountId) throw error;
  }
  return work();
}
