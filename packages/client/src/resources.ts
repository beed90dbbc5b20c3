import type { Assertion, KeyAlgorithm } from "@countersign/keys";

/** The device's key: it never leaves the device, so the client only asks for signatures. */
export interface DeviceKey {
  /** Hex: 64 bytes x||y, or the 32 bytes of Ed25519. */
  readonly publicKey: string;
  readonly algorithm: KeyAlgorithm;
  /** Signs `message` itself: ECDSA over its SHA-256, or Ed25519. Raw r||s, 64 bytes. */
  sign(message: Uint8Array): Promise<Uint8Array>;
}

/** A passkey: it signs nothing but what an authenticator says about a challenge. */
export interface Passkey {
  /** Hex: 64 bytes x||y. */
  readonly publicKey: string;
  readonly algorithm: "ES256";
  /** Has the authenticator answer a challenge, the user verified (WebAuthn level 3). Nothing is remembered of it. */
  assert(challenge: Uint8Array): Promise<Assertion>;
}

/** The account key of this device: one of its own, or a passkey. */
export type UserKey = DeviceKey | Passkey;

/** What the client got from its identity provider. */
export interface Login {
  method: "id_token_channel" | "redirect_code_channel";
  /** The ID token or an access token of the provider, or the code of the redirect. */
  token: string;
  provider?: string;
  redirectUri?: string;
  codeVerifier?: string;
  nonce?: string;
}

export interface Address {
  address: string;
  profileImageUrl: string;
  domainName: string;
  chainName: string;
  chainId: number;
  chainType: "cadence" | "evm";
}

export interface Account {
  id: string;
  addresses: Address[];
  parent: Address[];
  createdAt: string;
  updatedAt: string;
}

/** A rotation of the account's server key that waits for a device's signature. */
export interface ServerKeyRotation {
  chainName: string;
  /** Hex of the payload to sign: domain tag and RLP. */
  message: string;
}

export interface TransactionReference {
  id: string;
  chainName: string;
  refUrl: string;
}

export interface Credentials {
  accessToken: string;
  refreshToken: string;
}

export interface SignedIn {
  account: Account;
  transaction: TransactionReference;
  credentials: Credentials;
}

export interface DeviceAttributes {
  pushToken?: string;
  name?: string;
  osName?: string;
  osVersion?: string;
  deviceManufacturer?: string;
  deviceModel?: string;
  lang?: string;
  type?: "mobile" | "browser" | "desktop";
  sdkVersion?: string;
}

/** What may be changed of a device. */
export type DeviceChange = Omit<DeviceAttributes, "type"> & { id?: string };

export interface Device extends Required<DeviceAttributes> {
  id: string;
  publicKey: string;
  algorithm: KeyAlgorithm;
  createdAt: string;
  lastUsedAt: string;
}

export interface App {
  appId: string;
  appName: string;
}

export interface Session {
  id: string;
  app: App;
  publicKey: string;
  createdAt: string;
  lastUsedAt: string;
  expiresAt: string;
  current: boolean;
}

export interface Key {
  publicKey: string;
  algorithm: KeyAlgorithm;
  accountId: string;
  appId: string;
  chainName: string;
  type: "user-key" | "recover-key";
  name: string;
  keyIndex: number;
  weight: number;
  /** `devicePublicKey`: the identity key of its device, also where the device was removed and is null. */
  userKey: { type: "device" | "passkey"; device: Device | null; devicePublicKey: string; app: App } | null;
  recoverKey: { type: string; cloudKey: { accountName: string } } | null;
  pending: boolean;
  createdAt: string;
  lastUsedAt: string;
  revokedAt: string;
}

/** A time lock: a change of the account's keys that is signed from `availableAt` on. */
export interface TimeLock {
  id: string;
  /** The template, such as "add-recovery-key". */
  operation: string;
  chainName: string;
  startedAt: string;
  availableAt: string;
  /** "" unless it was cancelled. */
  cancelledAt: string;
}

/** Who asks, as far as the service knows. */
export interface TwoFactorRequest {
  /** New whenever `message` is. */
  id: string;
  app: App;
  userOpInfo: { type: "sign-in"; signIn: { email: string; ip: string; location: string } };
  /** The device that asks, as it will be once it is let in. */
  srcDevice: Device;
  /** The device that is notified; null without one. Any other device of the account may act as well. */
  destDevice: Device | null;
  /** Hex of the signable payload that adds the key: `readKeyAddition` takes it apart. */
  message: string;
  requestedAt: string;
}

/** A new device's request to be let in. */
export interface TwoFactorAuth {
  id: string;
  accountId: string;
  request: TwoFactorRequest;
  status: "pending" | "approved" | "rejected" | "expired" | "finished" | "failed";
  extra: null;
  /** The transaction that decided; "" until known. */
  result: { txId: string };
  expiresAt: string;
}

/** An open request, with the token that belongs to it alone. */
export interface TwoFactorAsked {
  twoFactorAuth: TwoFactorAuth;
  ephemeralAccessToken: string;
}

/** A composite signature: what Flow's client library calls it. */
export interface CompositeSignature {
  addr: string;
  keyId: number;
  signature: string;
}

export interface Challenge {
  /** Hex of 16 bytes. */
  challengeData: string;
  expiresAt: string;
}
