import type { DeviceAttributes } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";

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
