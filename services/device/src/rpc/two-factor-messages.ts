import { AppError, isUuid } from "@countersign/core";
import {
  type DeviceAttributes as WireAttributes,
  UserKeyType as WireType,
  type UserKey as WireUserKey,
} from "@countersign/proto/common/v1/types.ts";
import {
  TwoFactorStatus as WireStatus,
  type TwoFactorAuth as WireTwoFactor,
} from "@countersign/proto/device/v1/two_factor.ts";
import { publicKeyToProto } from "@countersign/rpc";
import { z } from "zod";
import type { AskingKey, TwoFactor, TwoFactorStatus } from "../domain/two-factor/two-factor.ts";
import type { TwoFactorView } from "../domain/two-factor/two-factor-view.ts";
import { deviceAttributes, publicKey, text, toWireDevice, uuid } from "./messages.ts";

const wireStatuses: Record<TwoFactorStatus, WireStatus> = {
  pending: WireStatus.TWO_FACTOR_STATUS_PENDING,
  approved: WireStatus.TWO_FACTOR_STATUS_APPROVED,
  rejected: WireStatus.TWO_FACTOR_STATUS_REJECTED,
  expired: WireStatus.TWO_FACTOR_STATUS_EXPIRED,
  finished: WireStatus.TWO_FACTOR_STATUS_FINISHED,
  failed: WireStatus.TWO_FACTOR_STATUS_FAILED,
};

const statuses = new Map<number, TwoFactorStatus | undefined>([
  [WireStatus.TWO_FACTOR_STATUS_UNSPECIFIED, undefined],
  ...Object.entries(wireStatuses).map(([name, value]) => [value, name as TwoFactorStatus] as const),
]);

/** A status to filter by; unspecified is every one. */
export const twoFactorStatus = z
  .number()
  .refine((value) => statuses.has(value), "is no status")
  .transform((value) => statuses.get(value));

const types = new Map<number, AskingKey["type"]>([
  [WireType.USER_KEY_TYPE_DEVICE, "device"],
  [WireType.USER_KEY_TYPE_PASSKEY, "passkey"],
]);

/** Anything that is no UUID names no request. Errors: TwoFactorAuthNotFound. */
const twoFactorId = z.string().transform((id) => {
  if (!isUuid(id)) throw new AppError("TwoFactorAuthNotFound");
  return id;
});

/** A request named by its id or one of its request ids. */
export const ofTwoFactor = z.object({ id: twoFactorId });

/** The same, asked by auth for an account. */
export const ofEnrollment = z.object({ accountId: uuid, id: twoFactorId });

export const openTwoFactorShape = z.object({
  id: uuid,
  accountId: uuid,
  chainName: text().min(1, "is missing"),
  app: z.object({ appId: text(), appName: text() }),
  userKey: z
    .object({
      type: z.number().refine((value) => types.has(value), "is no type of key"),
      accountKey: publicKey("/userKey/accountKey"),
      deviceKey: publicKey("/userKey/deviceKey"),
      device: deviceAttributes,
    })
    .transform(({ type, ...rest }): AskingKey => ({ type: types.get(type)!, ...rest })),
  signIn: z.object({ email: text(320), ip: text(), location: text() }),
  expiresAt: z.date(),
  recovering: z.boolean(),
});

export const toWireUserKey = ({ type, accountKey, deviceKey, device }: AskingKey): WireUserKey => ({
  type: type === "passkey" ? WireType.USER_KEY_TYPE_PASSKEY : WireType.USER_KEY_TYPE_DEVICE,
  accountKey: publicKeyToProto(accountKey),
  deviceKey: publicKeyToProto(deviceKey),
  device: { ...device },
});

/** Both sides of a request see the other's device, and of their own alone its push token. */
const withPushToken = <T extends { attributes: WireAttributes | undefined }>(device: T, pushToken: string): T => ({
  ...device,
  attributes: device.attributes && { ...device.attributes, pushToken },
});

/** The asking device as it will be once it is registered. */
const sourceDevice = ({ srcDeviceId, accountId, userKey, requestedAt }: TwoFactor) => ({
  id: srcDeviceId,
  publicKey: publicKeyToProto(userKey.deviceKey),
  attributes: { ...userKey.device },
  accountId,
  createdAt: requestedAt,
  lastUsedAt: requestedAt,
});

export function toWireTwoFactor({ request, destDevice, pushTokens }: TwoFactorView): WireTwoFactor {
  return {
    id: request.id,
    accountId: request.accountId,
    status: wireStatuses[request.status],
    resultTxId: request.result?.id ?? "",
    expiresAt: request.expiresAt,
    request: {
      id: request.requestId,
      app: { ...request.app },
      signIn: { ...request.signIn },
      srcDevice: withPushToken(sourceDevice(request), pushTokens.src),
      destDevice: destDevice === null ? undefined : withPushToken(toWireDevice(destDevice), pushTokens.dest),
      message: Buffer.from(request.message),
      requestedAt: request.requestedAt,
    },
  };
}
