import type { PublicKey } from "@countersign/keys";

/** What a client tells about a device; "" where it told nothing. */
export interface DeviceAttributes {
  pushToken: string;
  name: string;
  osName: string;
  osVersion: string;
  deviceManufacturer: string;
  deviceModel: string;
  lang: string;
  type: DeviceType;
  sdkVersion: string;
}

export type DeviceType = "mobile" | "browser" | "desktop";
export const DEVICE_TYPES: readonly DeviceType[] = ["mobile", "browser", "desktop"];

/** A device of an account; its public key is its identity key. */
export interface Device {
  /** UUIDv7. */
  id: string;
  accountId: string;
  publicKey: PublicKey;
  attributes: DeviceAttributes;
  createdAt: Date;
  lastUsedAt: Date;
  /** null while it is the account's. */
  removedAt: Date | null;
}

/** Who asks, as the verified access token says. */
export interface Session {
  accountId: string;
  /** Identity key of the device that signed in. */
  sessionKey: PublicKey;
}
