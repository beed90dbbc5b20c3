import { hash, verify as verifySignature } from "node:crypto";
import { AppError, type Clock, type Reason, type TokenVerifier, type VerifiedToken } from "@countersign/core";
import { LRUCache } from "lru-cache";
import { type AccessTokenClaims, parseClaims, parseHeader, splitToken } from "./claims.ts";
import type { TokenState } from "./state.ts";

export interface TokenVerifierOptions {
  /** The accepted `iss`: AUTH_ISSUER. */
  issuer: string;
  clock: Clock;
  /**
   * Rejects tokens of frozen accounts with AccountFrozen. For the signer: elsewhere a person must be able to
   * unfreeze.
   */
  refuseFrozen?: boolean;
  /**
   * Accepts the ephemeral token of a 2FA request that is over, and for five minutes one that has expired, so
   * that finishing can still report how the request ended. For the gateway and auth, which must check
   * `expiresAt` before they grant anything. Elsewhere, for example at the signer, such a token is rejected.
   */
  acceptEndedRequests?: boolean;
  /** The error without a current state. Default Unavailable; the signer uses SignerNotCurrent. */
  staleReason?: Reason;
  /**
   * Rejects tokens that were issued before, as expired: their uses were forgotten when the service's database
   * was restored.
   */
  issuedFrom?: Date | undefined;
  /** The number of verified tokens that are cached. Default 10,000. */
  cacheSize?: number;
}

interface Remembered {
  token: VerifiedToken;
  /** Milliseconds: the later of `iat` and `nbf`. */
  notBefore: number;
  keysVersion: number;
}

const SKEW_MS = 30_000;
/** For how long an expired ephemeral token may still learn how its request ended. */
const END_REPORTED_MS = 5 * 60_000;

/**
 * Verifies access tokens (RFC 9068: `typ` at+jwt, ES256) against the state that auth streams. The signature
 * is checked once per token; expiry, ended session and blocked keys are checked on every call.
 */
export function createTokenVerifier(state: TokenState, options: TokenVerifierOptions): TokenVerifier {
  const { clock, issuer, cacheSize = 10_000 } = options;
  const issuedFrom = options.issuedFrom?.getTime() ?? 0;
  const cache = new LRUCache<string, Remembered>({ max: cacheSize });
  const stale = () => new AppError(options.staleReason ?? "Unavailable");

  const checkSignature = (raw: string): Remembered => {
    const keysVersion = state.keysVersion();
    const parts = splitToken(raw);
    const { kid } = parseHeader(parts.header);
    const key = state.tokenKey(kid);
    if (key === undefined) throw new AppError("InvalidAccessToken");
    const signed = Buffer.from(`${parts.header}.${parts.payload}`, "ascii");
    const signature = Buffer.from(parts.signature, "base64url");
    const good =
      signature.length === 64 && verifySignature("sha256", signed, { key, dsaEncoding: "ieee-p1363" }, signature);
    if (!good) throw new AppError("InvalidAccessToken");
    const claims = parseClaims(parts.payload, issuer);
    return { token: tokenOf(claims), notBefore: Math.max(claims.iat, claims.nbf ?? 0) * 1000, keysVersion };
  };

  return {
    verify(raw) {
      if (!state.current()) throw stale();
      const digest = hash("sha256", raw, "base64");
      // The one that was verified longest ago is forgotten first, however often it is used.
      const known = cache.peek(digest);
      const fresh = known !== undefined && known.keysVersion === state.keysVersion();
      const verified = fresh ? known : checkSignature(raw);
      const { token } = verified;
      const learnsItsEnd = options.acceptEndedRequests === true && token.scope === "sign";
      const now = clock.now().getTime();
      const isForgotten = token.issuedAt.getTime() < issuedFrom;
      if (isForgotten || now >= token.expiresAt.getTime() + (learnsItsEnd ? END_REPORTED_MS : 0)) {
        cache.delete(digest);
        throw new AppError("AccessTokenExpired");
      }
      if (verified.notBefore > now + SKEW_MS) throw new AppError("InvalidAccessToken");
      if (!fresh) cache.set(digest, verified);
      const blocked =
        state.isKeyBlocked(token.accountId, token.deviceKey) || state.isKeyBlocked(token.accountId, token.accountKey);
      const ended = !learnsItsEnd && state.isSessionEnded(token.sessionId);
      // Only the holder of a token that auth signed can learn this.
      if (blocked || ended) throw new AppError("SessionEnded");
      if (options.refuseFrozen === true && state.isFrozen(token.accountId)) throw new AppError("AccountFrozen");
      return token;
    },
  };
}

function tokenOf(claims: AccessTokenClaims): VerifiedToken {
  const token: VerifiedToken = {
    accountId: claims.sub,
    sessionId: claims.sid,
    appId: claims.client_id,
    scope: claims.scope,
    deviceKey: claims.session_key,
    accountKey: claims.account_key,
    issuedAt: new Date(claims.iat * 1000),
    expiresAt: new Date(claims.exp * 1000),
  };
  if (claims.auth_time !== undefined) token.authTime = new Date(claims.auth_time * 1000);
  if (claims.two_factor !== undefined) token.twoFactorId = claims.two_factor;
  return Object.freeze(token);
}
