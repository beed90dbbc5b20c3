import { bytesToBase64url } from "@countersign/keys";

/** Where and as whom this page logs people in. */
export interface LoginConfig {
  /** The OpenID provider. */
  issuer: string;
  clientId: string;
}

/** What has to be remembered while the browser is at the provider. */
interface Pending {
  state: string;
  codeVerifier: string;
  nonce: string;
  wanted: string;
}

const PENDING = "pending-login";
const redirectUri = () => new URL("/", location.href).href;
const random = () => bytesToBase64url(crypto.getRandomValues(new Uint8Array(32)));

async function endpoints(issuer: string): Promise<{ authorization_endpoint: string; token_endpoint: string }> {
  return (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
}

/** Leaves for the provider's login page (authorization code flow, RFC 7636). `nonce` binds the ID token to a key; `wanted` is what comes back with it. */
export async function goToLogin({ issuer, clientId }: LoginConfig, nonce: string, wanted: string): Promise<void> {
  const pending: Pending = { state: random(), codeVerifier: random(), nonce, wanted };
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(pending.codeVerifier));
  const url = new URL((await endpoints(issuer)).authorization_endpoint);
  url.search = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri(),
    response_type: "code",
    scope: "openid email profile",
    state: pending.state,
    nonce,
    code_challenge: bytesToBase64url(new Uint8Array(digest)),
    code_challenge_method: "S256",
    // The provider asks whom it has not asked for five minutes, and says when: changes of the recovery key need that.
    max_age: "300",
  }).toString();
  location.assign(url);
}

/** The login that this page was just sent back from, if any. Errors: the provider refused, or its answer belongs to no login of ours. */
export async function returnedLogin({ issuer, clientId }: LoginConfig) {
  const answer = new URLSearchParams(location.search);
  if (!answer.has("code") && !answer.has("error")) return undefined;
  history.replaceState(null, "", redirectUri());
  const pending: Partial<Pending> = JSON.parse(sessionStorage.getItem(PENDING) ?? "{}");
  sessionStorage.removeItem(PENDING);
  if (answer.has("error")) throw new Error(answer.get("error_description") ?? "the provider refused the login");
  const { state, codeVerifier, nonce, wanted } = pending;
  if (!state || !codeVerifier || !nonce || !wanted || answer.get("state") !== state) {
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
  return { login: { method: "id_token_channel" as const, token, nonce }, wanted };
}
