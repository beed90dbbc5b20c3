import type { Assertion, KeyAlgorithm } from "@countersign/keys";

export type { DeviceAttributes, DeviceChange, Login } from "@countersign/http-api/requests.ts";
export type * from "@countersign/http-api/resources.ts";

/** The statement of a phone's platform that a genuine app makes a request. */
export interface Attestation {
  /** Apple's App Attest, or a classic request of Google's Play Integrity. */
  readonly type: "app-attest" | "play-integrity";
  /** The id of the attested key in base64, of App Attest. */
  readonly keyId?: string;
  /** The attestation object in base64, or the integrity token. */
  readonly token: string;
}

/** The device's key: it never leaves the device, so the client only asks for signatures. */
export interface DeviceKey {
  /** Hex: 64 bytes x||y, or the 32 bytes of Ed25519. */
  readonly publicKey: string;
  /** Its curve and signature scheme. */
  readonly algorithm: KeyAlgorithm;
  /**
   * Signs `message` itself: ECDSA over its SHA-256, or Ed25519. Raw r||s, 64 bytes.
   * @example const signature = await deviceKey.sign(message);
   */
  sign(message: Uint8Array): Promise<Uint8Array>;
}

/** A passkey: it signs only an authenticator's statement about a challenge. */
export interface Passkey {
  /** Hex: 64 bytes x||y. */
  readonly publicKey: string;
  /** Passkeys of accounts are P-256. */
  readonly algorithm: "ES256";
  /**
   * Has the authenticator answer a challenge, the user verified (WebAuthn level 3). Nothing of it is kept.
   * @example const { signature } = await passkey.assert(challenge);
   */
  assert(challenge: Uint8Array): Promise<Assertion>;
}

/** The account key of this device: one of its own, or a passkey. */
export type UserKey = DeviceKey | Passkey;
