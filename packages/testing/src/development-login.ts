import { createHash, randomBytes } from "node:crypto";
import { FRESH_LOGIN_MAX_AGE_SECONDS } from "@countersign/client";
import { CookieJar } from "./cookie-jar.ts";
import { alertOf, parseForm } from "./html-form.ts";

/** The result of a login in a browser: a code that works once, and the values to send along with it. */
export interface AuthorizationCode {
  /** Works once, for a minute. */
  code: string;
  /** RFC 7636; empty for a login without PKCE. */
  codeVerifier: string;
  /** Where the provider sent the browser. */
  redirectUri: string;
  /** The app that the person logged in to. */
  clientId: string;
  /** The value that the ID token will carry. */
  nonce: string;
}

/** Options of a login at the development provider. */
export interface DevelopmentLoginOptions {
  /** The development provider's URL, such as `http://localhost:9000`. */
  issuer: string;
  /** A client of the provider, such as `demo`. */
  clientId: string;
  /** One of the client's redirect URIs. */
  redirectUri: string;
  /** The person's e-mail address; the development provider believes any. */
  email: string;
  /** Binds the login to a key: base64url(SHA-256(canonical public key)). Default: random. */
  nonce?: string;
  /** Default: `openid email profile`. */
  scope?: string;
  /**
   * `max_age` in seconds: the provider asks again whom it has not asked for so long, and writes `auth_time`
   * into the ID token. Without `auth_time` no login is fresh enough to change the recovery key. Default: 300;
   * null does not send it.
   */
  maxAge?: number | null;
  /**
   * False: without PKCE (RFC 7636), as confidential clients may; the code has no verifier then. Default:
   * true.
   */
  pkce?: boolean;
}

const MAX_STEPS = 20;
const TIMEOUT_MS = 10_000;

/**
 * Plays a browser and a person at the development identity provider: opens the login page, fills in the
 * e-mail address, agrees, and stops at the redirect to the client, which it does not open.
 * @example
 * const { issuer, clients } = stack.identityProvider;
 * const code = await loginAtDevelopmentProvider({ issuer, ...clients[0]!, email });
 */
export async function loginAtDevelopmentProvider(options: DevelopmentLoginOptions): Promise<AuthorizationCode> {
  const { clientId, redirectUri, nonce = randomBytes(16).toString("base64url") } = options;
  const maxAge = options.maxAge === undefined ? FRESH_LOGIN_MAX_AGE_SECONDS : options.maxAge;
  const codeVerifier = options.pkce === false ? "" : randomBytes(32).toString("base64url");
  const state = randomBytes(16).toString("base64url");
  const { authorization_endpoint: endpoint } = await discover(options.issuer);
  const start = new URL(endpoint);
  start.search = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: options.scope ?? "openid email profile",
    state,
    nonce,
    ...(codeVerifier !== "" && {
      code_challenge: createHash("sha256").update(codeVerifier).digest("base64url"),
      code_challenge_method: "S256",
    }),
    ...(maxAge !== null && { max_age: String(maxAge) }),
  }).toString();

  const answer = await browse(start, redirectUri, options.email);
  const refusal = answer.searchParams.get("error");
  if (refusal)
    throw new Error(`the provider refused the login: ${answer.searchParams.get("error_description") ?? refusal}`);
  const code = answer.searchParams.get("code");
  if (answer.searchParams.get("state") !== state || !code)
    throw new Error("the provider's answer belongs to no login of ours");
  return { code, codeVerifier, redirectUri, clientId, nonce };
}

/**
 * Exchanges a code for its tokens, as a client does that signs up through the ID token channel.
 * @example
 * const code = await authorize(stack, email);
 * const { idToken } = await exchangeCode(stack.identityProvider.issuer, code);
 */
export async function exchangeCode(
  issuer: string,
  code: AuthorizationCode,
): Promise<{ idToken: string; accessToken: string }> {
  const { token_endpoint: endpoint } = await discover(issuer);
  const response = await fetch(endpoint, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code: code.code,
      code_verifier: code.codeVerifier,
      redirect_uri: code.redirectUri,
      client_id: code.clientId,
    }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const answer = (await response.json()) as { id_token?: string; access_token?: string; error?: string };
  if (!response.ok || !answer.id_token)
    throw new Error(`the provider gave no ID token: ${answer.error ?? response.status}`);
  return { idToken: answer.id_token, accessToken: answer.access_token ?? "" };
}

interface ProviderMetadata {
  authorization_endpoint: string;
  token_endpoint: string;
}

async function discover(issuer: string): Promise<ProviderMetadata> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return (await response.json()) as ProviderMetadata;
}

/**
 * Follows redirects and submits forms until the provider sends the browser to `redirectUri`; gives that
 * address.
 */
async function browse(start: URL, redirectUri: string, email: string): Promise<URL> {
  const jar = new CookieJar();
  let url = start;
  let form: { method: "GET" | "POST"; fields?: URLSearchParams } = { method: "GET" };
  for (let step = 0; step < MAX_STEPS; step++) {
    const cookie = jar.header(url);
    const response = await fetch(url, {
      method: form.method,
      redirect: "manual",
      headers: { accept: "text/html", ...(cookie && { cookie }) },
      ...(form.fields && { body: form.fields }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    jar.store(url, response.headers);
    const location = response.headers.get("location");
    if (response.status >= 300 && response.status < 400 && location) {
      await response.body?.cancel();
      url = new URL(location, url);
      if (leadsTo(url, redirectUri)) return url;
      form = { method: "GET" };
      continue;
    }
    const page = await response.text();
    const next = parseForm(page);
    const refusal = alertOf(page);
    if (!response.ok && refusal !== undefined) throw new Error(`the provider refused the login: ${refusal}`);
    if (!response.ok || !next)
      throw new Error(`the provider's page ${url.origin}${url.pathname} answered ${response.status}, no form`);
    for (const name of next.textFields) next.fields.set(name, email);
    url = new URL(next.action, url);
    form = { method: next.method };
    if (next.method === "POST") form.fields = next.fields;
    else url.search = next.fields.toString();
  }
  throw new Error("the login did not come to an end");
}

function leadsTo(url: URL, redirectUri: string): boolean {
  const target = new URL(redirectUri);
  return url.origin === target.origin && url.pathname === target.pathname;
}
