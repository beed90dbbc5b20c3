import type { PublicKey } from "@countersign/keys";
import type { DeviceAttributes } from "../devices/device.ts";

export const TWO_FACTOR_STATUSES = ["pending", "approved", "rejected", "expired", "finished", "failed"] as const;
export type TwoFactorStatus = (typeof TWO_FACTOR_STATUSES)[number];

/** The key that wants to be added, with the device that holds it. */
export interface AskingKey {
  type: "device" | "passkey";
  /** What is added on chain. */
  accountKey: PublicKey;
  /** The asking device's identity key. */
  deviceKey: PublicKey;
  device: DeviceAttributes;
}

/** Where a transaction can be looked up; `id` is 64 hex digits. */
export interface ChainTransaction {
  id: string;
  refUrl: string;
}

/** A new device's request to be let in. */
export interface TwoFactor {
  /** UUIDv7, minted by auth; never changes. */
  id: string;
  accountId: string;
  chainName: string;
  app: { appId: string; appName: string };
  userKey: AskingKey;
  signIn: { email: string; ip: string; location: string };
  /** Minted here, for the device as it is shown before it is registered. */
  srcDeviceId: string;
  /** The device that is notified; null where the account has none. */
  destDeviceId: string | null;
  status: TwoFactorStatus;
  /** UUIDv4, new whenever `message` is. */
  requestId: string;
  /** The signable payload of the transaction that adds the key. */
  message: Uint8Array;
  /** When it was first asked; renewals leave it. */
  requestedAt: Date;
  expiresAt: Date;
  /** An approval that is being submitted, or was. UUIDv7. */
  attemptId: string | null;
  attemptStartedAt: Date | null;
  /** Device id of whoever approved, or is about to. */
  approvedBy: string | null;
  rejectedAt: Date | null;
  /** The identity key of the session that rejected it, as `<algorithm> <hex>`. */
  rejectedBy: string | null;
  /** Whether a recovery session rejected it: such a rejection does not count towards closing the account. */
  rejectedInRecovery: boolean;
  /** The transaction that decided. */
  result: ChainTransaction | null;
  /** When the key was seen on chain, and at which index. */
  sealedAt: Date | null;
  keyIndex: number | null;
  wrongApprovals: number;
  /** When the sweeper asks the account service how the attempt stands; null where there is nothing to ask. */
  settleAt: Date | null;
}

/** A message that was shown under a request id. */
export interface ShownMessage {
  requestId: string;
  message: Uint8Array;
}
