import type { PublicKey } from "@countersign/keys";
import { HOUR_MS } from "./clock.ts";
import type { TokenScope } from "./token-scope.ts";

/** The claims of a verified access token; auth signed every member. */
export interface VerifiedToken {
  accountId: string;
  sessionId: string;
  /** `client_id`. */
  appId: string;
  scope: TokenScope;
  /** Identity key of the device that signed in. */
  deviceKey: PublicKey;
  /** The key of that device on chain. */
  accountKey: PublicKey;
  issuedAt: Date;
  expiresAt: Date;
  /** When the person last proved their identity (`auth_time`); absent where auth did not say. */
  authTime?: Date;
  /**
   * TwoFactorAuth.id of the request that an ephemeral token belongs to; present only where `scope` is "sign".
   */
  twoFactorId?: string;
}

/**
 * Returns what limits count a token's requests by: its device or recovery key, of which one may be stolen. An
 * ephemeral token may name the keys of another device.
 */
export const limitIdOf = ({ accountId, scope, sessionId, deviceKey }: VerifiedToken): string =>
  `${accountId}/${scope === "sign" ? sessionId : deviceKey.publicKey}`;

export interface TokenVerifier {
  /**
   * Errors: InvalidAccessToken, AccessTokenExpired, SessionEnded; `staleReason` while the state is too old.
   */
  verify(raw: string): VerifiedToken;
}

/** Milliseconds without an update of the token state after which a replica rejects every token. */
export const MAX_STATE_AGE_MS = 10_000;

/**
 * Milliseconds for which auth sends a blocked key to all services: longer than any token lives that names the
 * key, and twice as long as anybody may cache an answer about blocked keys.
 */
export const BLOCK_SENT_MS = 2 * HOUR_MS;
