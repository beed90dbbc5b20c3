import { UserKeyType } from "@countersign/proto/common/v1/types.ts";
import { TwoFactorStatus } from "@countersign/proto/device/v1/two_factor.ts";

/** The types of user keys by their names in the services. */
export const USER_KEY_TYPES = {
  device: UserKeyType.USER_KEY_TYPE_DEVICE,
  passkey: UserKeyType.USER_KEY_TYPE_PASSKEY,
} as const;

/** The states of 2FA requests by their names in the services. */
export const TWO_FACTOR_STATUSES = {
  pending: TwoFactorStatus.TWO_FACTOR_STATUS_PENDING,
  approved: TwoFactorStatus.TWO_FACTOR_STATUS_APPROVED,
  rejected: TwoFactorStatus.TWO_FACTOR_STATUS_REJECTED,
  expired: TwoFactorStatus.TWO_FACTOR_STATUS_EXPIRED,
  finished: TwoFactorStatus.TWO_FACTOR_STATUS_FINISHED,
  failed: TwoFactorStatus.TWO_FACTOR_STATUS_FAILED,
} as const;

/** Returns the name of a member of an enum of the contract; undefined for unspecified and unknown members. */
export const nameOf = <Name extends string>(members: Readonly<Record<Name, number>>, member: number | undefined) =>
  (Object.keys(members) as Name[]).find((name) => members[name] === member);
