import { base64urlToBytes, decodeUtf8 } from "@countersign/keys";

/** The claims of an access token that a client reads for itself; the services verify them. */
export interface TokenClaims {
  /** The key that the session signs with on chain. */
  account_key?: { key?: string };
  /** Seconds since 1970. */
  exp?: number;
  /** The session's id. */
  sid?: string;
  /** The account's id. */
  sub?: string;
}

/** Reads the claims of a JWT without verifying it; of anything else none. */
export function claimsOf(token: string): TokenClaims {
  try {
    const claims: unknown = JSON.parse(decodeUtf8(base64urlToBytes(token.split(".")[1] ?? "")));
    return typeof claims === "object" && claims !== null ? claims : {};
  } catch {
    return {};
  }
}
