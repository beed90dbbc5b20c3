import { ACCESS_TOKEN_AUDIENCE, ACCESS_TOKEN_TYPE, type Clock, isUuid, uuidv4 } from "@countersign/service-kit";
import { importJWK, jwtVerify, SignJWT } from "jose";
import { ACCESS_TOKEN_MS, type Credentials, type Session } from "../domain/session.ts";
import type { TokenKeys } from "./token-keys.ts";

const REFRESH_TOKEN_TYPE = "rt+jwt";
const REFRESH_TOKEN_AUDIENCE = "countersign-refresh";

const seconds = (time: Date): number => Math.floor(time.getTime() / 1000);

export interface TokensOptions {
  readonly keys: TokenKeys;
  readonly issuer: string;
  readonly clock: Clock;
}

/** The JWTs of sessions: access tokens as in RFC 9068, and refresh tokens that only auth reads. */
export function createTokens({ keys, issuer, clock }: TokensOptions) {
  return {
    /** A new access token, and the refresh token that the session's row names. */
    async issue(session: Session): Promise<Credentials> {
      const { kid, key } = await keys.signingKey();
      const now = clock.now();
      const { accountKey, deviceKey } = session;
      const accessToken = await new SignJWT({
        client_id: session.app.appId,
        sid: session.id,
        scope: "full",
        auth_time: seconds(session.authTime),
        session_key: { alg: deviceKey.algorithm, key: deviceKey.publicKey },
        account_key: { alg: accountKey.algorithm, key: accountKey.publicKey },
      })
        .setProtectedHeader({ alg: "ES256", typ: ACCESS_TOKEN_TYPE, kid })
        .setIssuer(issuer)
        .setAudience(ACCESS_TOKEN_AUDIENCE)
        .setSubject(session.accountId)
        .setJti(uuidv4())
        .setIssuedAt(seconds(now))
        .setExpirationTime(seconds(new Date(now.getTime() + ACCESS_TOKEN_MS)))
        .sign(key);
      const refreshToken = await new SignJWT({ sid: session.id })
        .setProtectedHeader({ alg: "ES256", typ: REFRESH_TOKEN_TYPE, kid })
        .setIssuer(issuer)
        .setAudience(REFRESH_TOKEN_AUDIENCE)
        .setSubject(session.accountId)
        .setJti(session.refreshId)
        .setExpirationTime(seconds(session.refreshExpiresAt))
        .sign(key);
      return { accessToken, refreshToken };
    },

    /** The ids in a refresh token of ours; undefined for everything else. The session's row decides what they are worth. */
    async readRefreshToken(token: string): Promise<{ sessionId: string; refreshId: string } | undefined> {
      try {
        const { payload } = await jwtVerify(
          token,
          async ({ kid = "" }) => {
            const jwk = await keys.verificationKey(kid);
            if (!jwk) throw new Error("no such key");
            return importJWK(jwk, "ES256");
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
        const { sid, jti } = payload;
        return typeof sid === "string" && isUuid(sid) && jti && isUuid(jti)
          ? { sessionId: sid, refreshId: jti }
          : undefined;
      } catch {
        return undefined;
      }
    },
  };
}
