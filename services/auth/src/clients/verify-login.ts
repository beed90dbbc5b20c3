import { AppError, isAppError } from "@countersign/core";
import { type PublicKey, publicKeyFingerprint } from "@countersign/keys";
import { hashOf } from "../domain/idempotency.ts";
import type { ExchangedCodeStore, Login, LoginProfile, VerifyLogin } from "../domain/login.ts";
import { invalidLogin, issuerOf, quoted } from "./login-errors.ts";
import type { OpenIdProvider, VerifiedLogin } from "./openid-provider.ts";
import type { ProviderClient } from "./providers-file.ts";

/** Where a code came back to, and whose it is. */
interface CodeOrigin {
  readonly client: ProviderClient;
  readonly redirectUri: string;
  /** The client is one of several and the request has no redirect URI. Errors do not name it. */
  readonly inferred: boolean;
}

/** Returns the error of members of the login; pointers start at the message that carries it. */
const badLogin = (detail: string, ...fields: { pointer: string; detail: string }[]) =>
  new AppError("InvalidRequest", { detail, fields });

/**
 * Returns the error that names the missing redirect URI, and the code verifier where it may be what was
 * forgotten.
 */
function badOrigin(detail: string, { codeVerifier }: Login): AppError {
  const redirectUri = { pointer: "/login/redirectUri", detail };
  if (codeVerifier !== "") return badLogin(detail, redirectUri);
  const verifier = { pointer: "/login/codeVerifier", detail: "Required if the login used PKCE" };
  return badLogin(`${detail}, and its codeVerifier if the login used PKCE`, redirectUri, verifier);
}

/**
 * Returns the redirect URI that a client's code came back to where the request does not say; undefined: it
 * could be several.
 */
const defaultRedirectUri = ({ defaultRedirectUri, redirectUris }: ProviderClient): string | undefined =>
  defaultRedirectUri ?? (redirectUris.length === 1 ? redirectUris[0] : undefined);

/**
 * Returns the client whose code this is: the one of the redirect URI. A request without one implies the only
 * client, or the only one that takes codes without a verifier where none comes along, or the only one with a
 * configured default. Errors: InvalidLoginToken, InvalidRequest.
 */
function originOf({ config }: OpenIdProvider, login: Login): CodeOrigin {
  const { redirectUri, codeVerifier } = login;
  const { name, clients } = config;
  if (redirectUri !== "") {
    const client = clients.find(({ redirectUris }) => redirectUris.includes(redirectUri));
    if (!client) throw invalidLogin(`redirectUri ${quoted(redirectUri)} belongs to no client of provider "${name}"`);
    if (codeVerifier === "" && !client.allowCodeWithoutVerifier) {
      throw invalidLogin(`codeVerifier is missing; client "${client.clientId}" takes no code without it (RFC 7636)`);
    }
    return { client, redirectUri, inferred: false };
  }
  const possible = clients.filter((client) => codeVerifier !== "" || client.allowCodeWithoutVerifier);
  if (possible.length === 0) {
    const detail = `redirectUri and codeVerifier are missing; no client of provider "${name}" takes a code without them`;
    throw badLogin(
      detail,
      { pointer: "/login/redirectUri", detail: "Required with codeVerifier" },
      { pointer: "/login/codeVerifier", detail: "Required: no client takes a code without it" },
    );
  }
  const marked = possible.filter((client) => client.defaultRedirectUri !== undefined);
  const [client, ...others] = possible.length === 1 ? possible : marked;
  const implied = client && others.length === 0 ? defaultRedirectUri(client) : undefined;
  if (client && implied !== undefined) return { client, redirectUri: implied, inferred: clients.length > 1 };
  const only = clients.length > 1 ? "the client that it implies" : `client "${possible[0]!.clientId}"`;
  const several =
    possible.length > 1
      ? `provider "${name}" has ${possible.length} clients`
      : `${only} has ${possible[0]!.redirectUris.length} redirect URIs`;
  throw badOrigin(
    `redirectUri is missing; ${several} that the code could belong to; send the login's redirectUri`,
    login,
  );
}

/** Verifies login tokens of the providers, which may change; see docs/sign-up.md. */
export function createVerifyLogin(providers: readonly OpenIdProvider[], codes: ExchangedCodeStore): VerifyLogin {
  /** Returns the provider of a login. Errors: UnknownProvider. */
  function providerOf({ provider: name, method, token }: Login): OpenIdProvider {
    const refuse = (problem: string) => {
      const configured = providers.map(({ config }) => `"${config.name}"`).join(", ");
      const detail = `${problem}; configured: ${configured}`;
      return new AppError("UnknownProvider", { detail, fields: [{ pointer: "/login/provider", detail }] });
    };
    if (name !== "") {
      const named = providers.find(({ config }) => config.name === name);
      if (!named) throw refuse(`There is no identity provider ${quoted(name)}`);
      return named;
    }
    if (providers.length === 1) return providers[0]!;
    // An unverified `iss` only chooses among the configured ones; it is verified against that one's own keys.
    const issuer = method === "id_token_channel" ? issuerOf(token) : undefined;
    const found = providers.filter(({ config }) => config.issuer === issuer);
    if (found.length === 1) return found[0]!;
    throw refuse(
      issuer === undefined || found.length > 1
        ? "provider is missing, and the token does not say which one it is of"
        : `The token is of ${quoted(issuer)}, which is no configured provider`,
    );
  }

  function checkNonce(
    { client, nonce }: Pick<VerifiedLogin, "client" | "nonce">,
    login: Login,
    keys: readonly PublicKey[],
  ): void {
    if (nonce === undefined && client.keyBinding === "required") {
      const detail = `App "${client.appId}" takes only logins that are bound to the key; an access token has no nonce: send the ID token`;
      throw new AppError("KeyBindingRequired", { detail });
    }
    if (login.nonce !== "" && login.nonce !== nonce) throw invalidLogin("The login has another nonce than the request");
    // All keys of the request: a thief must not add a key beside the one that the login is bound to.
    if (client.keyBinding === "required" && !keys.every((key) => publicKeyFingerprint(key) === nonce)) {
      const detail = `App "${client.appId}" takes only logins whose nonce is base64url(SHA-256(public key)) of this key`;
      throw new AppError("KeyBindingRequired", { detail });
    }
  }

  async function verifyCode(provider: OpenIdProvider, login: Login, keys: readonly PublicKey[]): Promise<LoginProfile> {
    const { client, redirectUri, inferred } = originOf(provider, login);
    const used = {
      binding: hashOf([client.clientId, redirectUri, login.codeVerifier]),
      keys: keys.slice(0, 1).map(publicKeyFingerprint),
    };
    const exchanged = await codes.once(hashOf([provider.config.issuer, login.token]), used, async () => {
      const { idToken, accessToken } = await provider
        .exchangeCode(client, login.token, redirectUri, login.codeVerifier)
        .catch((error) => {
          if (!inferred || !isAppError(error, "InvalidLoginToken")) throw error;
          // The code may be of another client or redirect URI, or of a login with PKCE.
          const problem = "The provider refused the code, whose client could only be inferred";
          throw badOrigin(`${problem}; send the login's redirectUri`, login);
        });
      const verified = await provider.verifyIdToken(idToken);
      if (verified.client !== client) {
        throw invalidLogin(`The code is of client "${verified.client.clientId}", not of "${client.clientId}"`);
      }
      const { profile, nonce, hasEmail } = verified;
      return { profile: hasEmail ? profile : await provider.completeProfile(profile, accessToken), nonce };
    });
    if (!exchanged) throw invalidLogin("The code was used before, with another key, redirectUri or codeVerifier");
    // Also of what is remembered: a use before this one may have named no key, or not all of these.
    checkNonce({ client, nonce: exchanged.nonce }, login, keys);
    return exchanged.profile;
  }

  return async (login, keys) => {
    if (login.method === "" || login.token === "") throw invalidLogin("method or token is missing");
    const provider = providerOf(login);
    if (login.method === "redirect_code_channel") return verifyCode(provider, login, keys);
    const verified = await provider.verifyToken(login.token);
    checkNonce(verified, login, keys);
    return verified.profile;
  };
}
