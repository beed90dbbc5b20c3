import { type TwoFactorAuth, TwoFactorStatus } from "@countersign/proto/device/v1/two_factor.ts";
import { z } from "zod";
import { toHex, toTimestamp } from "../../http/validation.ts";
import { appSchema, deviceSchema, toApp, toDevice } from "./device.ts";

const STATUSES = {
  pending: TwoFactorStatus.TWO_FACTOR_STATUS_PENDING,
  approved: TwoFactorStatus.TWO_FACTOR_STATUS_APPROVED,
  rejected: TwoFactorStatus.TWO_FACTOR_STATUS_REJECTED,
  expired: TwoFactorStatus.TWO_FACTOR_STATUS_EXPIRED,
  finished: TwoFactorStatus.TWO_FACTOR_STATUS_FINISHED,
  failed: TwoFactorStatus.TWO_FACTOR_STATUS_FAILED,
} as const;

export type TwoFactorStatusName = keyof typeof STATUSES;

export const twoFactorStatusSchema = z.enum(Object.keys(STATUSES) as [TwoFactorStatusName, ...TwoFactorStatusName[]]);

const twoFactorRequestSchema = z.object({
  id: z.string(),
  app: appSchema,
  userOpInfo: z.object({
    type: z.literal("sign-in"),
    signIn: z.object({ email: z.string(), ip: z.string(), location: z.string() }),
  }),
  srcDevice: deviceSchema,
  /** null where the account has no other device any more. */
  destDevice: deviceSchema.nullable(),
  message: z.string(),
  requestedAt: z.string(),
});

export const twoFactorAuthSchema = z.object({
  id: z.string(),
  accountId: z.string(),
  request: twoFactorRequestSchema,
  status: twoFactorStatusSchema,
  extra: z.null(),
  result: z.object({ txId: z.string() }),
  expiresAt: z.string(),
});

/** A request for approval as clients see it. Throws where the service named no status. */
export function toTwoFactorAuth(auth: TwoFactorAuth | undefined): z.infer<typeof twoFactorAuthSchema> {
  const request = auth?.request;
  return {
    id: auth?.id ?? "",
    accountId: auth?.accountId ?? "",
    request: {
      id: request?.id ?? "",
      app: toApp(request?.app),
      userOpInfo: {
        type: "sign-in",
        signIn: {
          email: request?.signIn?.email ?? "",
          ip: request?.signIn?.ip ?? "",
          location: request?.signIn?.location ?? "",
        },
      },
      srcDevice: toDevice(request?.srcDevice),
      destDevice: request?.destDevice ? toDevice(request.destDevice) : null,
      message: toHex(request?.message),
      requestedAt: toTimestamp(request?.requestedAt),
    },
    status: toStatus(auth?.status),
    extra: null,
    result: { txId: auth?.resultTxId ?? "" },
    expiresAt: toTimestamp(auth?.expiresAt),
  };
}

/** The contract's form of a status to filter by; absent is every one. */
export const fromStatus = (name: TwoFactorStatusName | undefined): TwoFactorStatus =>
  name === undefined ? TwoFactorStatus.TWO_FACTOR_STATUS_UNSPECIFIED : STATUSES[name];

function toStatus(status: TwoFactorStatus | undefined): TwoFactorStatusName {
  for (const [name, value] of Object.entries(STATUSES)) if (value === status) return name as TwoFactorStatusName;
  // Guessing one could let somebody in or keep somebody waiting.
  throw new Error(`the device service sent the status ${status}`);
}
