import { AppError } from "@countersign/errors";
import type { Clock } from "@countersign/service-kit";
import { createRemoteJWKSet, type JWTPayload, errors as jose, jwtVerify } from "jose";
import * as openid from "openid-client";
import type { LoginProfile } from "../domain/login.ts";
import { invalidLogin, quoted, tokenProblem } from "./login-errors.ts";
import type { ProviderClient, ProviderConfig } from "./providers-file.ts";

/** Signature algorithms of ID tokens that are believed: asymmetric ones only. */
const ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"];
const MAX_AGE_S = 600;
const CLOCK_TOLERANCE_S = 30;
const TIMEOUT_S = 4;

/** What a verified ID token says, with the nonce that may bind it to a key. */
export interface VerifiedLogin {
  readonly profile: LoginProfile;
  readonly client: ProviderClient;
  readonly nonce: string;
}

/** Neither protobuf nor Postgres keeps NUL and lone surrogates: what has them counts as absent. */
const text = (value: unknown, limit: number): string =>
  typeof value === "string" && value.length <= limit && value.isWellFormed() && !value.includes("\0") ? value : "";

/** People choose their own picture, and others' clients show it. */
const webAddress = (value: unknown): string => {
  const address = text(value, 2048);
  return URL.canParse(address) && /^https?:$/.test(new URL(address).protocol) ? address : "";
};

/**
 * When the person logged in, by the token's `auth_time` (OpenID Connect Core, section 2). `iat` does not say it: a
 * provider issues tokens for logins of last month. Providers must send it only where `max_age` asks for it.
 */
function authTimeOf({ auth_time: claimed, iat }: JWTPayload, now: Date): Date | undefined {
  const isTime = typeof claimed === "number" && Number.isInteger(claimed) && claimed >= 0 && claimed <= iat!;
  // A provider's clock may be ahead: a time after ours would stay fresh for longer.
  return isTime ? new Date(Math.min(claimed * 1000, now.getTime())) : undefined;
}

/** The registered client that an ID token was issued to (OpenID Connect Core, section 3.1.3.7). */
function clientOf({ aud, azp }: JWTPayload, { name, clients }: ProviderConfig): ProviderClient {
  const audiences = Array.isArray(aud) ? aud : [aud];
  const party = audiences.length > 1 ? azp : audiences[0];
  const client = clients.find(({ clientId }) => clientId === party && audiences.includes(clientId));
  if (client && (azp === undefined || azp === client.clientId)) return client;
  const audience = azp === undefined ? quoted(aud) : `${quoted(aud)}, with the authorized party ${quoted(azp)}`;
  throw invalidLogin(`The ID token's audience is ${audience}: no client of provider "${name}" that is registered here`);
}

/** One configured identity provider. Its metadata comes from its configured issuer only, never from inside of a token. */
export function createOpenIdProvider(config: ProviderConfig, clock: Clock) {
  const configurations = new Map<string, Promise<openid.Configuration>>();
  let jwks: Promise<ReturnType<typeof createRemoteJWKSet>> | undefined;

  function configuration(client: ProviderClient): Promise<openid.Configuration> {
    let found = configurations.get(client.clientId);
    if (!found) {
      const authentication =
        client.clientSecret === undefined ? openid.None() : openid.ClientSecretPost(client.clientSecret);
      const execute = config.allowInsecureHttp ? [openid.allowInsecureRequests] : [];
      found = openid.discovery(new URL(config.issuer), client.clientId, undefined, authentication, {
        execute,
        timeout: TIMEOUT_S,
      });
      configurations.set(client.clientId, found);
      // A failed discovery is tried again by the next login.
      found.catch(() => configurations.delete(client.clientId));
    }
    return found.catch((cause) => {
      throw new AppError("IdentityProviderUnavailable", { cause });
    });
  }

  async function keySet() {
    jwks ??= configuration(config.clients[0]!).then((found) => {
      const uri = found.serverMetadata().jwks_uri;
      if (!uri) throw new AppError("IdentityProviderUnavailable", { detail: "the provider publishes no keys" });
      return createRemoteJWKSet(new URL(uri), { timeoutDuration: TIMEOUT_S * 1000 });
    });
    jwks.catch(() => {
      jwks = undefined;
    });
    return jwks;
  }

  return {
    config,

    /** Verifies an ID token. Errors: InvalidLoginToken, IdentityProviderUnavailable. */
    async verifyIdToken(token: string): Promise<VerifiedLogin> {
      const keys = await keySet();
      let payload: JWTPayload;
      try {
        const verified = await jwtVerify(token, keys, {
          issuer: config.issuer,
          algorithms: ALGORITHMS,
          maxTokenAge: MAX_AGE_S,
          clockTolerance: CLOCK_TOLERANCE_S,
          currentDate: clock.now(),
          requiredClaims: ["sub", "exp", "iat", "aud"],
        });
        payload = verified.payload;
      } catch (cause) {
        // A key set that does not arrive, or is none, is thrown as the plain class: not the token's fault.
        const { code } = cause as { code?: string };
        const unreachable = code === jose.JOSEError.code || code === jose.JWKSTimeout.code || code === undefined;
        throw unreachable
          ? new AppError("IdentityProviderUnavailable", { cause })
          : invalidLogin(tokenProblem(cause, "ID token", config.name), cause);
      }
      const client = clientOf(payload, config);
      const subject = text(payload.sub, 255);
      if (subject === "") throw invalidLogin("The ID token's subject is empty, too long or not text");
      const { appId, appName } = client;
      return {
        client,
        nonce: text(payload.nonce, 512),
        profile: {
          issuer: config.issuer,
          subject,
          // Some providers write booleans as text. Mail must not go to whoever's address somebody typed in.
          email: String(payload.email_verified) === "false" ? "" : text(payload.email, 320),
          name: text(payload.name, 256),
          picture: webAddress(payload.picture),
          app: { appId, appName },
          authTime: authTimeOf(payload, clock.now()),
        },
      };
    },

    /** Exchanges a code for its ID token (RFC 6749, RFC 7636). Errors: InvalidLoginToken, IdentityProviderUnavailable. */
    async exchangeCode(
      client: ProviderClient,
      code: string,
      redirectUri: string,
      codeVerifier: string,
    ): Promise<string> {
      const found = await configuration(client);
      try {
        const answer = await openid.genericGrantRequest(found, "authorization_code", {
          code,
          redirect_uri: redirectUri,
          ...(codeVerifier === "" ? {} : { code_verifier: codeVerifier }),
        });
        if (!answer.id_token)
          throw invalidLogin("The provider gave no ID token for the code; log in with the scope openid");
        return answer.id_token;
      } catch (cause) {
        if (cause instanceof AppError) throw cause;
        if (cause instanceof openid.ResponseBodyError) {
          throw invalidLogin("The provider refused the code: it has expired, was used, or is of another login", cause);
        }
        // What the library finds wrong in an answer is the answer's fault; a time-out or a broken connection is not.
        if (cause instanceof openid.ClientError && cause.code !== "OAUTH_TIMEOUT") {
          throw invalidLogin("The provider's answer to the code is not valid", cause);
        }
        throw new AppError("IdentityProviderUnavailable", { cause });
      }
    },
  };
}
export type OpenIdProvider = ReturnType<typeof createOpenIdProvider>;
