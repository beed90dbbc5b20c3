import { AppError, invalidField, isUuid } from "@countersign/core";
import type { DeviceAttributes as WireAttributes, UserKey as WireUserKey } from "@countersign/proto/common/v1/types.ts";
import {
  TwoFactorStatus as WireStatus,
  type TwoFactorAuth as WireTwoFactor,
} from "@countersign/proto/device/v1/two_factor.ts";
import {
  deviceAttributes,
  nameOf,
  publicKeyField,
  publicKeyToProto,
  TWO_FACTOR_STATUSES,
  textField,
  USER_KEY_TYPES,
  uuidField,
} from "@countersign/rpc";
import { z } from "zod";
import type { Approval } from "../domain/two-factor/approve-two-factor.ts";
import type { EnrollingKey, TwoFactor } from "../domain/two-factor/two-factor.ts";
import type { TwoFactorView } from "../domain/two-factor/two-factor-view.ts";
import { toWireDevice } from "./conversions.ts";

/** A status to filter by; unspecified means every status. */
const twoFactorStatus = z
  .number()
  .refine(
    (value) => value === WireStatus.TWO_FACTOR_STATUS_UNSPECIFIED || nameOf(TWO_FACTOR_STATUSES, value),
    "is not a status",
  )
  .transform((value) => nameOf(TWO_FACTOR_STATUSES, value));

/** Errors: TwoFactorAuthNotFound, also for an id that is not a UUID. */
const twoFactorId = z.string().transform((id) => {
  if (!isUuid(id)) throw new AppError("TwoFactorAuthNotFound");
  return id;
});

/** A request of the token's account, named by its id or the id of one of its messages. */
export const twoFactorShape = z.object({ id: twoFactorId });

/** A request of an account, named by auth. */
export const enrollmentShape = z.object({ accountId: uuidField, id: twoFactorId });

export const listShape = z.object({ status: twoFactorStatus });

export const redirectShape = twoFactorShape.extend({ destDeviceId: uuidField });

export const openShape = z.object({
  id: uuidField,
  accountId: uuidField,
  chainName: textField().min(1, "is missing"),
  app: z.object({ appId: textField(), appName: textField() }),
  userKey: z
    .object({
      type: z.number().refine((value) => nameOf(USER_KEY_TYPES, value) !== undefined, "is not a key type"),
      accountKey: publicKeyField("/userKey/accountKey"),
      deviceKey: publicKeyField("/userKey/deviceKey"),
      device: deviceAttributes,
    })
    .transform(({ type, ...rest }): EnrollingKey => ({ type: nameOf(USER_KEY_TYPES, type)!, ...rest })),
  signIn: z.object({ email: textField(320), ip: textField(), location: textField() }),
  expiresAt: z.date(),
  recovering: z.boolean(),
  byRecoverySession: z.boolean(),
});

/** The longest part of an assertion that is read. */
const MAX_ASSERTION_PART_BYTES = 4096;
const assertionPart = z
  .instanceof(Uint8Array)
  .refine(({ length }) => length <= MAX_ASSERTION_PART_BYTES, "is too long");
/** Raw r||s or DER. */
const MAX_SIGNATURE_BYTES = 72;

export const approveShape = twoFactorShape.extend({
  txId: z
    .string()
    .regex(/^[0-9a-f]{64}$/, "is not 64 hex digits in lower case")
    .optional(),
  signature: z
    .object({
      signature: z
        .instanceof(Uint8Array)
        .refine(({ length }) => length > 0 && length <= MAX_SIGNATURE_BYTES, "is not a signature"),
      clientDataJson: assertionPart,
      authenticatorData: assertionPart,
    })
    .optional(),
});

/** Returns what the request approves with. Errors: InvalidRequest. */
export function approvalOf({ txId, signature }: z.infer<typeof approveShape>): Approval {
  if (txId !== undefined) return { transactionId: txId };
  if (!signature) throw invalidField("/approval", "a transaction id or a signature is needed");
  const { clientDataJson: clientDataJSON, authenticatorData } = signature;
  if (clientDataJSON.length === 0 && authenticatorData.length === 0) return { signature: signature.signature };
  return { signature: signature.signature, passkey: { clientDataJSON, authenticatorData } };
}

export const toWireUserKey = ({ type, accountKey, deviceKey, device }: EnrollingKey): WireUserKey => ({
  type: USER_KEY_TYPES[type],
  accountKey: publicKeyToProto(accountKey),
  deviceKey: publicKeyToProto(deviceKey),
  device: { ...device },
});

/** Replaces a device's push token: each side sees only its own. */
const withPushToken = <T extends { attributes: WireAttributes | undefined }>(device: T, pushToken: string): T => ({
  ...device,
  attributes: device.attributes && { ...device.attributes, pushToken },
});

/** Returns the new device as it will be once it is registered. */
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
    status: TWO_FACTOR_STATUSES[request.status],
    resultTxId: request.result?.id ?? "",
    expiresAt: request.expiresAt,
    request: {
      id: request.messageId,
      app: { ...request.app },
      signIn: { ...request.signIn },
      srcDevice: withPushToken(sourceDevice(request), pushTokens.src),
      destDevice: destDevice === null ? undefined : withPushToken(toWireDevice(destDevice), pushTokens.dest),
      message: Buffer.from(request.message),
      requestedAt: request.requestedAt,
    },
  };
}
