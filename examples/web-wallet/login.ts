import { bytesToBase64url } from "@countersign/keys";

/** Where and as whom this page logs people in. */
export interface LoginConfig {
  /** The OpenID provider. */
  issuer: string;
  clientId: string;
}

/** A login to start: its purpose and the passkey that it is for. */
export interface LoginRequest {
  action: "sign-up" | "sign-in";
  /** The passkey that it is for. */
  publicKey: string;
  /** Binds the ID token to that key. */
  nonce: string;
  /** "login": the person logs in again, also where the provider knows somebody still. */
  prompt?: "login";
}

/** The login that is kept while the browser is at the provider. */
interface Pending extends LoginRequest {
  state: string;
  codeVerifier: string;
}

const PENDING = "pending-login";
const redirectUri = () => new URL("/", location.href).href;
const random = () => bytesToBase64url(crypto.getRandomValues(new Uint8Array(32)));

async function endpoints(issuer: string): Promise<{ authorization_endpoint: string; token_endpoint: string }> {
  return (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
}

/** Leaves for the provider's login page (authorization code flow, RFC 7636). */
export async function goToLogin({ issuer, clientId }: LoginConfig, request: LoginRequest): Promise<void> {
  const pending: Pending = { ...request, state: random(), codeVerifier: random() };
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(pending.codeVerifier));
  const url = new URL((await endpoints(issuer)).authorization_endpoint);
  url.search = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri(),
    response_type: "code",
    scope: "openid email profile",
    state: pending.state,
    nonce: request.nonce,
    code_challenge: bytesToBase64url(new Uint8Array(digest)),
    code_challenge_method: "S256",
    // The login is at most five minutes old and says when it was: changes of the recovery key need that.
    max_age: "300",
    ...(request.prompt && { prompt: request.prompt }),
  }).toString();
  location.assign(url);
}

/** Returns the login from which the browser has just come back, if it has. */
export function returnedFrom(): Partial<Pending> | undefined {
  const answer = new URLSearchParams(location.search);
  if (!answer.has("code") && !answer.has("error")) return undefined;
  return JSON.parse(sessionStorage.getItem(PENDING) ?? "{}");
}

/**
 * Returns the login with which the provider sent the browser here. Errors: the provider refused, or its
 * answer belongs to no login of ours.
 */
export async function returnedLogin({ issuer, clientId }: LoginConfig) {
  const answer = new URLSearchParams(location.search);
  const { state, codeVerifier, nonce, action, publicKey } = returnedFrom() ?? {};
  history.replaceState(null, "", redirectUri());
  sessionStorage.removeItem(PENDING);
  if (answer.has("error")) throw new Error(answer.get("error_description") ?? "the provider refused the login");
  if (!state || !codeVerifier || !nonce || !action || !publicKey || answer.get("state") !== state) {
    throw new Error("the provider's answer belongs to no login of this page");
  }
  const response = await fetch((await endpoints(issuer)).token_endpoint, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: clientId,
      code: answer.get("code") ?? "",
      redirect_uri: redirectUri(),
      code_verifier: codeVerifier,
    }),
  });
  if (!response.ok) throw new Error(`the provider gave no token (${response.status})`);
  const { id_token: token } = (await response.json()) as { id_token: string };
  return { login: { method: "id_token_channel" as const, token, nonce }, action, publicKey };
}
