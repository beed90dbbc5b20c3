import type { PublicKey } from "@countersign/keys";

/** A client's description of a device; "" where it sent nothing. */
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

/** A device of an account; its public key is its identity key. */
export interface Device {
  /** UUIDv7. */
  id: string;
  accountId: string;
  publicKey: PublicKey;
  attributes: DeviceAttributes;
  createdAt: Date;
  lastUsedAt: Date;
  /** null while it belongs to the account. */
  removedAt: Date | null;
}

/** The caller, as the verified access token describes it. */
export interface Session {
  accountId: string;
  /** Identity key of the device that signed in. */
  deviceKey: PublicKey;
}
