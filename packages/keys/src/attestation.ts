import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToBase64url } from "./base64url.ts";
import { type PublicKey, publicKeyFingerprint } from "./public-key.ts";

const sha256Of = (text: string): Uint8Array => sha256(new TextEncoder().encode(text));

/** The request that an attestation is made for; one that is made for another request does not count. */
export interface AttestedRequest {
  /** `sign-up`, or `enrollment` of a further device. */
  readonly operation: "sign-up" | "enrollment";
  /** The chain of the request. */
  readonly chainName: string;
  /** The login token of the request, as it is sent. */
  readonly loginToken: string;
  /** The key that is to come to the account. */
  readonly accountKey: PublicKey;
  /** The device's identity key. */
  readonly deviceKey: PublicKey;
}

/**
 * Returns the text that an app attestation is about: six lines, of which the login token makes it fresh and
 * the two keys bind it to the device.
 * @example
 * const request = { operation: "sign-up" as const, chainName, loginToken: login.token };
 * const text = attestationText({ ...request, accountKey: deviceKey, deviceKey });
 */
export const attestationText = (request: AttestedRequest): string =>
  [
    "countersign attestation v1",
    request.operation,
    request.chainName,
    bytesToBase64url(sha256Of(request.loginToken)),
    publicKeyFingerprint(request.accountKey),
    publicKeyFingerprint(request.deviceKey),
  ].join("\n");

/**
 * Returns SHA-256 of the text: the `clientDataHash` of App Attest, and in base64url the `nonce` of Play
 * Integrity.
 * @example
 * const request = { operation: "enrollment" as const, chainName, loginToken: login.token };
 * const nonce = bytesToBase64url(attestationHash({ ...request, accountKey: deviceKey, deviceKey }));
 */
export const attestationHash = (request: AttestedRequest): Uint8Array => sha256Of(attestationText(request));
