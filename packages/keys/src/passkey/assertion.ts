import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToBase64url } from "../base64url.ts";
import { parseAuthenticatorData } from "./authenticator-data.ts";
import { parseClientData } from "./client-data.ts";
import { PasskeyError } from "./passkey-error.ts";
import type { RelyingParty } from "./relying-party.ts";

/** The answer of a passkey (WebAuthn level 3, section 5.2.2). */
export interface Assertion {
  /** The browser's statement, as JSON in UTF-8: see `parseClientData`. */
  readonly clientDataJSON: Uint8Array;
  /** The authenticator's statement: see `parseAuthenticatorData`. */
  readonly authenticatorData: Uint8Array;
  /** DER as authenticators make it, or raw r||s as it is on chain. */
  readonly signature: Uint8Array;
}

/**
 * The purpose of an assertion. A passkey that signs in is an account key as well: a login's challenge has 16
 * bytes, and a transaction's is a digest of 32 bytes, so that one can never be used as the other.
 */
export type AssertionPurpose =
  | { readonly login: Uint8Array }
  /** The whole message: tag and RLP. The challenge is its SHA2-256 (FLIP 264). */
  | { readonly transaction: Uint8Array };

/**
 * Bytes of a login's challenge.
 * @example const challenge = crypto.getRandomValues(new Uint8Array(LOGIN_CHALLENGE_BYTES));
 */
export const LOGIN_CHALLENGE_BYTES = 16;

/**
 * Returns the challenge for the authenticator. Throws TypeError where a login's challenge has not 16 bytes.
 * @example const options = { challenge: challengeOf({ transaction: message }), rpId: "wallet.example.com" };
 */
export function challengeOf(purpose: AssertionPurpose): Uint8Array {
  if ("transaction" in purpose) return sha256(purpose.transaction);
  if (purpose.login.length !== LOGIN_CHALLENGE_BYTES) throw new TypeError("a login's challenge has 16 bytes");
  return purpose.login;
}

/** The verified statements of an assertion. */
export interface AssertionFacts {
  /** The relying party that the passkey was made for. */
  readonly rpId: string;
  /** The page or app that used the passkey. */
  readonly origin: string;
  /** 0 where the authenticator has no counter. */
  readonly signCount: number;
}

const sameBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, i) => byte === b[i]);

const rpIdHash = (rpId: string): Uint8Array => sha256(new TextEncoder().encode(rpId));

const listed = (texts: readonly string[]): string =>
  [...new Set(texts)].map((text) => JSON.stringify(text.slice(0, 100))).join(", ");

/** Says why an origin and the hash of an RP id are not those of one relying party. */
function mismatch(origin: string, relyingParties: readonly RelyingParty[]): string {
  const parties = relyingParties.filter(({ origins }) => origins.includes(origin));
  return parties.length === 0
    ? `the origin ${listed([origin])} is not allowed; allowed: ${listed(relyingParties.flatMap(({ origins }) => origins))}`
    : `the RP id is not the one of this origin: ${listed(parties.map(({ rpId }) => rpId))}`;
}

/**
 * Checks everything about an assertion but its signature (WebAuthn level 3, section 7.2): type, challenge,
 * origin and RP id of one relying party, user present and verified. `verifyAssertion` of the node entry adds
 * the signature. Throws PasskeyError.
 * @example const { origin, signCount } = inspectAssertion(assertion, { login: challenge }, relyingParties);
 */
export function inspectAssertion(
  { clientDataJSON, authenticatorData }: Omit<Assertion, "signature">,
  purpose: AssertionPurpose,
  relyingParties: readonly RelyingParty[],
): AssertionFacts {
  const client = parseClientData(clientDataJSON);
  const authenticator = parseAuthenticatorData(authenticatorData);
  if (client.type !== "webauthn.get")
    throw new PasskeyError("type", 'clientDataJSON has another type than "webauthn.get"');
  // Compared as text: a client does not write a non-canonical encoding of the same bytes.
  if (client.challenge !== bytesToBase64url(challengeOf(purpose))) {
    throw new PasskeyError("challenge", "clientDataJSON has another challenge");
  }
  if (client.crossOrigin)
    throw new PasskeyError("cross-origin", "the page that asked is embedded in one of another origin");
  const party = relyingParties.find(
    ({ rpId, origins }) => origins.includes(client.origin) && sameBytes(authenticator.rpIdHash, rpIdHash(rpId)),
  );
  if (!party) throw new PasskeyError("relying-party", mismatch(client.origin, relyingParties));
  if (!authenticator.userPresent) throw new PasskeyError("user-presence", "the user was not present (flag UP)");
  if (!authenticator.userVerified) {
    throw new PasskeyError("user-verification", "the user was not verified (flag UV); user verification is required");
  }
  return { rpId: party.rpId, origin: client.origin, signCount: authenticator.signCount };
}
