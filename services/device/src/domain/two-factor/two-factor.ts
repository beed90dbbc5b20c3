import type { DeviceAttributes } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";

export const TWO_FACTOR_STATUSES = ["pending", "approved", "rejected", "expired", "finished", "failed"] as const;
export type TwoFactorStatus = (typeof TWO_FACTOR_STATUSES)[number];

/** The key that a new device enrolls with. */
export interface EnrollingKey {
  type: "device" | "passkey";
  /** The key to be added on chain. */
  accountKey: PublicKey;
  /** The new device's identity key. */
  deviceKey: PublicKey;
  device: DeviceAttributes;
}

/** Where a transaction can be looked up; `id` is 64 hex digits. */
export interface ChainTransaction {
  id: string;
  refUrl: string;
}

/** A request to enroll a new device. */
export interface TwoFactor {
  /** UUIDv7, minted by auth; never changes. */
  id: string;
  accountId: string;
  chainName: string;
  app: { appId: string; appName: string };
  userKey: EnrollingKey;
  signIn: { email: string; ip: string; location: string };
  /** Minted here, for the device as it is shown before it is registered. */
  srcDeviceId: string;
  /** The device that is notified; null where the account has none. */
  destDeviceId: string | null;
  status: TwoFactorStatus;
  /** UUIDv4, new whenever `message` is; the contract's `TwoFactorRequest.id`. */
  messageId: string;
  /** The signable payload of the transaction that adds the key. */
  message: Uint8Array;
  /** When the request was opened; renewals do not change it. */
  requestedAt: Date;
  expiresAt: Date;
  /** Whether the account's recovery key had a session when it was opened: devices reject few of these. */
  openedInRecovery: boolean;
  /** The approval that is being submitted, or was. UUIDv7. */
  attemptId: string | null;
  attemptStartedAt: Date | null;
  /** The id of the device that approved or is approving, or of the recovery key's session. */
  approverId: string | null;
  rejectedAt: Date | null;
  /** The identity key of the session that rejected it, as `<algorithm> <hex>`. */
  rejectedByKey: string | null;
  /** Whether a recovery session rejected it: such a rejection does not count towards closing the account. */
  rejectedInRecovery: boolean;
  /** The transaction that decided. */
  result: ChainTransaction | null;
  /** When the key was seen on chain, and at which index. */
  sealedAt: Date | null;
  keyIndex: number | null;
  wrongApprovals: number;
  /**
   * When the sweeper asks the account service for the attempt's outcome; null where there is none to learn.
   */
  reconcileAt: Date | null;
}

/** A message that was shown under a message id. */
export interface ShownMessage {
  messageId: string;
  message: Uint8Array;
}

/** The key to add, and where. */
export interface KeyAddition {
  accountId: string;
  chainName: string;
  userKey: PublicKey;
  /** The recovery key had a session when the addition was requested. */
  recovering: boolean;
}

export const keyAdditionOf = ({ accountId, chainName, userKey, openedInRecovery }: TwoFactor): KeyAddition => ({
  accountId,
  chainName,
  recovering: openedInRecovery,
  userKey: userKey.accountKey,
});
