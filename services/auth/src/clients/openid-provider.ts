import { hash } from "node:crypto";
import { AppError, type Clock, HOUR_MS } from "@countersign/core";
import {
  createRemoteJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  type JWTPayload,
  type JWTVerifyResult,
  errors as jose,
  jwtVerify,
  customFetch as keysFetch,
} from "jose";
import { LRUCache } from "lru-cache";
import * as openid from "openid-client";
import type { LoginProfile } from "../domain/login.ts";
import { CLOCK_TOLERANCE_S, introspectToken, MAX_AGE_S } from "./introspection.ts";
import { invalidLogin, issuerOf, quoted, tokenProblem } from "./login-errors.ts";
import { createProviderFetch, isBadAnswer, refusalStatus, TIMEOUT_S, unavailable } from "./provider-fetch.ts";
import { type ProfileClaims, profileOf, text, withUserInfo } from "./provider-profile.ts";
import type { ProviderClient, ProviderConfig } from "./providers-file.ts";
import { fetchUserInfo } from "./userinfo.ts";

/** The accepted signature algorithms of tokens: asymmetric ones only. */
const ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"];
/** An older discovery document is read again. */
const METADATA_AGE_MS = HOUR_MS;
/** ID tokens that a process remembers, each for at most ten minutes. */
const MAX_REMEMBERED = 10_000;
/** RFC 6750, section 2.1. */
const BEARER_TOKEN = /^[\w\-.~+/]{1,4096}=*$/;

/** A login token that a provider has confirmed. */
export interface VerifiedLogin {
  readonly profile: LoginProfile;
  readonly client: ProviderClient;
  /** The ID token's nonce, which may bind it to a key; undefined: an access token, which has none. */
  readonly nonce: string | undefined;
}

interface VerifiedIdToken extends VerifiedLogin {
  readonly nonce: string;
  /** Whether the ID token names an e-mail address, verified or not. */
  readonly hasEmail: boolean;
}

/** With what this service calls a provider. */
type Credentials = Pick<ProviderClient, "clientId" | "clientSecret">;

/**
 * Returns when the person logged in, by the token's `auth_time` (OpenID Connect Core, section 2). `iat` does
 * not say it: a provider issues tokens for logins of last month. Providers must send it only where `max_age`
 * asks for it.
 */
function authTimeOf({ auth_time: claimed, iat }: JWTPayload, now: Date): Date | undefined {
  const isTime = typeof claimed === "number" && Number.isInteger(claimed) && claimed >= 0 && claimed <= iat!;
  // A provider's clock may be ahead: a time after ours would stay fresh for longer.
  return isTime ? new Date(Math.min(claimed * 1000, now.getTime())) : undefined;
}

/** Returns the registered client that an ID token was issued to (OpenID Connect Core, section 3.1.3.7). */
function clientOf({ aud, azp }: JWTPayload, { name, clients }: ProviderConfig): ProviderClient {
  const audiences = Array.isArray(aud) ? aud : [aud];
  const party = audiences.length > 1 ? azp : audiences[0];
  const client = clients.find(({ clientId }) => clientId === party && audiences.includes(clientId));
  if (client && (azp === undefined || azp === client.clientId)) return client;
  const audience = azp === undefined ? quoted(aud) : `${quoted(aud)}, with the authorized party ${quoted(azp)}`;
  throw invalidLogin(`The ID token's audience is ${audience}: no client of provider "${name}" that is registered here`);
}

const typeOf = ({ typ }: { typ?: unknown }): string =>
  typeof typ === "string" ? typ.toLowerCase().replace(/^application\//, "") : "";

/**
 * Returns the kind of a login token, unverified: the rules of that kind verify it afterwards. A JWT is an
 * access token if its type says so (RFC 9068; Keycloak writes it among the claims), otherwise an ID token.
 */
function kindOf(token: string): "id-token" | "jwt-access-token" | "opaque" | "garbage" {
  if (!/^[\w-]*\.[\w-]*\.[\w-]*$/.test(token)) return BEARER_TOKEN.test(token) ? "opaque" : "garbage";
  try {
    const isAccessToken = typeOf(decodeProtectedHeader(token)) === "at+jwt" || decodeJwt(token).typ === "Bearer";
    return isAccessToken ? "jwt-access-token" : "id-token";
  } catch {
    return "garbage";
  }
}

/**
 * Refuses other JWTs of the provider's keys: logout and security event tokens are issued to the same clients.
 */
function requireIdToken({ payload, protectedHeader }: JWTVerifyResult): void {
  const type = typeOf(protectedHeader);
  if ((type !== "" && type !== "jwt") || (payload.typ !== undefined && payload.typ !== "ID") || "events" in payload) {
    throw invalidLogin(`The JWT is no ID token; its type is ${quoted(payload.typ ?? protectedHeader.typ)}`);
  }
}

/**
 * Creates the client of one configured identity provider. Its metadata comes from its configured issuer only,
 * never from inside of a token.
 */
export function createOpenIdProvider(config: ProviderConfig, clock: Clock) {
  const { name, issuer, introspection } = config;
  const providerFetch = createProviderFetch(config);
  const configurations = new LRUCache<Credentials, openid.Configuration>({
    max: 1_000,
    ttl: METADATA_AGE_MS,
    perf: { now: () => clock.now().getTime() },
    // The known one serves until the provider has answered.
    allowStale: true,
    noDeleteOnFetchRejection: true,
    fetchMethod: ({ clientId, clientSecret }) => {
      const authentication = clientSecret === undefined ? openid.None() : openid.ClientSecretPost(clientSecret);
      return openid.discovery(new URL(issuer), clientId, undefined, authentication, {
        execute: config.allowInsecureHttp ? [openid.allowInsecureRequests] : [],
        timeout: TIMEOUT_S,
        [openid.customFetch]: providerFetch as openid.CustomFetch,
      });
    },
  });
  let jwks: { uri: string; keys: ReturnType<typeof createRemoteJWKSet> } | undefined;

  // A failed discovery is tried again by the next login.
  const configuration = (credentials: Credentials): Promise<openid.Configuration> =>
    configurations.forceFetch(credentials).catch((cause) => {
      throw unavailable(cause);
    });

  async function keySet() {
    const { jwks_uri: uri } = (await configuration(config.clients[0]!)).serverMetadata();
    if (!uri || !URL.canParse(uri))
      throw new AppError("IdentityProviderUnavailable", { detail: "the provider publishes no keys" });
    const options = { timeoutDuration: TIMEOUT_S * 1000, [keysFetch]: providerFetch };
    if (jwks?.uri !== uri) jwks = { uri, keys: createRemoteJWKSet(new URL(uri), options) };
    return jwks.keys;
  }

  /** Verifies a provider's JWT. Errors: InvalidLoginToken, IdentityProviderUnavailable. */
  async function verifyJwt(token: string, kind: "ID token" | "access token"): Promise<JWTVerifyResult> {
    const keys = await keySet();
    try {
      return await jwtVerify(token, keys, {
        issuer,
        algorithms: ALGORITHMS,
        maxTokenAge: MAX_AGE_S,
        clockTolerance: CLOCK_TOLERANCE_S,
        currentDate: clock.now(),
        requiredClaims: ["sub", "exp", "iat", "aud"],
      });
    } catch (cause) {
      // A key set that does not arrive, or is none, is thrown as the plain class: not the token's fault.
      const { code } = cause as { code?: string };
      const unreachable = code === jose.JOSEError.code || code === jose.JWKSTimeout.code || code === undefined;
      if (unreachable) throw unavailable(cause);
      // Of another issuer's token the signature is wrong too, but the issuer is what the client can correct.
      const tokenIssuer = issuerOf(token);
      const isForeign = tokenIssuer !== undefined && tokenIssuer !== issuer;
      const expected = `provider "${name}" has the issuer ${quoted(issuer)}`;
      const problem = isForeign
        ? `The ${kind} is of issuer ${quoted(tokenIssuer)}; ${expected}`
        : tokenProblem(cause, kind, name);
      throw invalidLogin(problem, cause);
    }
  }

  /**
   * Returns the registered client that an access token was issued to. A token for another resource server is
   * refused: that server could log in with it. So is one that is bound to a key (`cnf`), which nothing here
   * checks. Introspection may name no audience; a JWT must. Errors: InvalidLoginToken.
   */
  function clientOfAccessToken({ client_id, azp, aud, cnf }: JWTPayload, isJwt: boolean): ProviderClient {
    const party = client_id ?? azp;
    const client = config.clients.find(({ clientId }) => clientId === party);
    if (!client) {
      throw invalidLogin(
        `The access token is of client ${quoted(party)}: none of provider "${name}" that is registered here`,
      );
    }
    const audiences = aud === undefined ? [] : [aud].flat();
    const ours =
      audiences.includes(client.clientId) || audiences.includes(config.accessTokenAudience ?? client.clientId);
    if ((isJwt || audiences.length > 0) && !ours) {
      throw invalidLogin(`The access token's audience is ${quoted(aud)}, and not this service`);
    }
    if (cnf !== undefined) throw invalidLogin("The access token is bound to a key (cnf); send a bearer token");
    return client;
  }

  /** Verified ID tokens by their hash: a login serves for several requests. */
  const remembered = new LRUCache<string, { readonly verified: VerifiedIdToken; readonly until: number }>({
    max: MAX_REMEMBERED,
  });

  /** Verifies an ID token. Errors: InvalidLoginToken, IdentityProviderUnavailable. */
  async function verifyIdToken(token: string): Promise<VerifiedIdToken> {
    const digest = hash("sha256", token, "base64");
    const known = remembered.get(digest);
    const now = clock.now();
    if (known && now.getTime() < known.until) return known.verified;
    const jwt = await verifyJwt(token, "ID token");
    requireIdToken(jwt);
    const { payload } = jwt;
    const client = clientOf(payload, config);
    const profile = profileOf(issuer, client, payload.sub, payload, authTimeOf(payload, now));
    const verified = { client, nonce: text(payload.nonce, 512), profile, hasEmail: payload.email !== undefined };
    // Without the tolerance for clocks: then the token is verified again.
    remembered.set(digest, { verified, until: 1000 * Math.min(payload.exp!, payload.iat! + MAX_AGE_S) });
    return verified;
  }

  async function userInfo(accessToken: string, subject: unknown): Promise<ProfileClaims | undefined> {
    const { userinfo_endpoint: endpoint } = (await configuration(config.clients[0]!)).serverMetadata();
    return endpoint ? fetchUserInfo(endpoint, providerFetch, accessToken, subject) : undefined;
  }

  async function introspect(token: string): Promise<JWTPayload> {
    if (!introspection) {
      throw invalidLogin(
        `The token is no JWT, and provider "${name}" takes no opaque access tokens; send the ID token`,
      );
    }
    return introspectToken(await configuration(introspection), config, clock, token);
  }

  return {
    config,

    verifyIdToken,

    /**
     * Verifies a login token of the ID token channel: an ID token or an access token. An access token must be
     * accepted by the provider's userinfo endpoint, which has the profile, and never makes a fresh login: it
     * may be of a login of last month. Errors: InvalidLoginToken, IdentityProviderUnavailable.
     */
    async verifyToken(token: string): Promise<VerifiedLogin> {
      const kind = kindOf(token);
      if (kind === "garbage") throw invalidLogin("The token is neither a JWT nor an access token");
      if (kind === "id-token") return verifyIdToken(token);
      const isJwt = kind === "jwt-access-token";
      const claims = isJwt ? (await verifyJwt(token, "access token")).payload : await introspect(token);
      const client = clientOfAccessToken(claims, isJwt);
      const info = await userInfo(token, claims.sub);
      if (!info) throw invalidLogin(`Provider "${name}" refuses the access token at its userinfo endpoint`);
      return { client, nonce: undefined, profile: profileOf(issuer, client, claims.sub, info, undefined) };
    },

    /** A profile with what it lacks from the userinfo endpoint, as far as that accepts the access token. */
    async completeProfile(profile: LoginProfile, accessToken: string): Promise<LoginProfile> {
      const claims = await userInfo(accessToken, profile.subject);
      return claims ? withUserInfo(profile, claims) : profile;
    },

    /**
     * Exchanges a code for its tokens (RFC 6749, RFC 7636). Errors: InvalidLoginToken,
     * IdentityProviderUnavailable.
     */
    async exchangeCode(
      client: ProviderClient,
      code: string,
      redirectUri: string,
      codeVerifier: string,
    ): Promise<{ idToken: string; accessToken: string }> {
      const found = await configuration(client);
      try {
        const { id_token: idToken, access_token: accessToken } = await openid.genericGrantRequest(
          found,
          "authorization_code",
          { code, redirect_uri: redirectUri, ...(codeVerifier === "" ? {} : { code_verifier: codeVerifier }) },
        );
        if (!idToken) throw invalidLogin("The provider gave no ID token for the code; log in with the scope openid");
        return { idToken, accessToken };
      } catch (cause) {
        if (cause instanceof AppError) throw cause;
        if (cause instanceof openid.ResponseBodyError || refusalStatus(cause) === 400) {
          throw invalidLogin("The provider refused the code: it has expired, was used, or is of another login", cause);
        }
        const isOfCode = refusalStatus(cause) === undefined && isBadAnswer(cause);
        throw isOfCode ? invalidLogin("The provider's answer to the code is not valid", cause) : unavailable(cause);
      }
    },
  };
}
export type OpenIdProvider = ReturnType<typeof createOpenIdProvider>;
