import { ACCESS_TOKEN_AUDIENCE, ACCESS_TOKEN_TYPE, REFRESH_TOKEN_TYPE } from "@countersign/access-tokens";
import { type Clock, isUuid, uuidv4, type VerifiedToken } from "@countersign/core";
import { signMessage } from "@countersign/keys/node";
import { decodeProtectedHeader, errors, jwtVerify } from "jose";
import type { RefreshTokenIds } from "../domain/sessions/refresh-token.ts";
import { ACCESS_TOKEN_MS, type Credentials, type Session, type SessionScope } from "../domain/sessions/session.ts";
import type { TwoFactorSignIn } from "../domain/two-factor/two-factor-sign-in.ts";
import type { TokenKeys } from "./token-keys.ts";

const REFRESH_TOKEN_AUDIENCE = "countersign-refresh";
const IDENTITY_TOKEN_TYPE = "identity+jwt";
/** An app's backend looks at it once, when its person signs in there. */
const IDENTITY_TOKEN_MS = 5 * 60_000;

/** Returns whether a token, unverified, says that it is an access token. */
function looksLikeAccessToken(token: string): boolean {
  try {
    return decodeProtectedHeader(token).typ === ACCESS_TOKEN_TYPE;
  } catch {
    return false;
  }
}

const seconds = (time: Date): number => Math.floor(time.getTime() / 1000);

interface TokensOptions {
  readonly keys: Pick<TokenKeys, "signingKey" | "verificationKey">;
  /** Sign identity tokens only. */
  readonly identityKeys: Pick<TokenKeys, "signingKey">;
  readonly issuer: string;
  readonly clock: Clock;
}

/**
 * Signs and verifies the JWTs of sessions: access tokens as in RFC 9068, and refresh tokens that only auth
 * reads.
 */
export function createTokens({ keys, identityKeys, issuer, clock }: TokensOptions) {
  interface AccessToken extends Pick<Session, "accountId" | "app" | "deviceKey" | "accountKey" | "authTime"> {
    /** Ending the session revokes the token. */
    readonly sessionId: string;
    readonly tokenId: string;
    readonly expiresAt: Date;
    readonly scope: { readonly scope: SessionScope } | { readonly scope: "sign"; readonly two_factor: string };
  }

  /** Signs a JWT (RFC 7519). A sign-in takes two, and jose would hand each to a thread. */
  async function sign(
    typ: string,
    audience: string,
    claims: Record<string, unknown>,
    signers: Pick<TokenKeys, "signingKey"> = keys,
  ): Promise<string> {
    const { kid, key } = await signers.signingKey();
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const signed = `${part({ alg: "ES256", typ, kid })}.${part({ iss: issuer, aud: audience, ...claims })}`;
    return `${signed}.${Buffer.from(signMessage(key, Buffer.from(signed))).toString("base64url")}`;
  }

  const signAccessToken = ({ accountKey, deviceKey, ...token }: AccessToken): Promise<string> =>
    sign(ACCESS_TOKEN_TYPE, ACCESS_TOKEN_AUDIENCE, {
      sub: token.accountId,
      client_id: token.app.appId,
      sid: token.sessionId,
      ...token.scope,
      jti: token.tokenId,
      ...(token.authTime && { auth_time: seconds(token.authTime) }),
      iat: seconds(clock.now()),
      exp: seconds(token.expiresAt),
      session_key: { alg: deviceKey.algorithm, key: deviceKey.publicKey },
      account_key: { alg: accountKey.algorithm, key: accountKey.publicKey },
    });

  return {
    /** A new access token, and the refresh token that the session's row names. */
    async issue(session: Session): Promise<Credentials> {
      const expiresAt = new Date(clock.now().getTime() + ACCESS_TOKEN_MS);
      const accessToken = await signAccessToken({
        ...session,
        sessionId: session.id,
        tokenId: uuidv4(),
        expiresAt,
        scope: { scope: session.scope },
      });
      const refreshToken = await sign(REFRESH_TOKEN_TYPE, REFRESH_TOKEN_AUDIENCE, {
        sub: session.accountId,
        sid: session.id,
        jti: session.refreshId,
        exp: seconds(session.refreshExpiresAt),
      });
      return { accessToken, refreshToken };
    },

    /**
     * Issues a 2FA request's ephemeral token, which opens the signing of its own transaction and ends with
     * it.
     */
    issueEphemeral: ({ id, accountKey, ...signIn }: TwoFactorSignIn): Promise<string> =>
      signAccessToken({ ...signIn, sessionId: id, accountKey, scope: { scope: "sign", two_factor: id } }),

    /**
     * Issues an identity token: it shows the backend of the session's app which account and device called,
     * and opens nothing here.
     */
    async issueIdentity(token: VerifiedToken, nonce: string) {
      const { accountId, sessionId, appId, deviceKey, authTime } = token;
      const now = clock.now();
      const expiresAt = new Date((seconds(now) + IDENTITY_TOKEN_MS / 1000) * 1000);
      const claims = {
        sub: accountId,
        sid: sessionId,
        jti: uuidv4(),
        ...(authTime && { auth_time: seconds(authTime) }),
        nonce,
        iat: seconds(now),
        exp: seconds(expiresAt),
        device_key: { alg: deviceKey.algorithm, key: deviceKey.publicKey },
      };
      return { identityToken: await sign(IDENTITY_TOKEN_TYPE, appId, claims, identityKeys), expiresAt };
    },

    /**
     * Returns the ids in a refresh token of ours, "expired" for one that was ours, "access-token" for what
     * looks like an access token, and undefined for anything else. The session's row decides what the ids are
     * worth.
     */
    async readRefreshToken(token: string): Promise<RefreshTokenIds | "expired" | "access-token" | undefined> {
      try {
        const { payload } = await jwtVerify(
          token,
          async ({ kid = "" }) => {
            const key = await keys.verificationKey(kid);
            if (!key) throw new Error("no such key");
            return key;
          },
          {
            algorithms: ["ES256"],
            typ: REFRESH_TOKEN_TYPE,
            issuer,
            audience: REFRESH_TOKEN_AUDIENCE,
            currentDate: clock.now(),
            requiredClaims: ["jti", "sid", "exp"],
          },
        );
        const { sub, sid, jti } = payload;
        return typeof sid === "string" && isUuid(sid) && jti && isUuid(jti) && sub && isUuid(sub)
          ? { sessionId: sid, accountId: sub, refreshId: jti }
          : undefined;
      } catch (error) {
        // jose checks the signature and every other claim before it looks at `exp`.
        if (error instanceof errors.JWTExpired) return "expired";
        return looksLikeAccessToken(token) ? "access-token" : undefined;
      }
    },
  };
}
