import { UserKeyType } from "@countersign/proto/common/v1/types.ts";
import type { Key } from "@countersign/proto/key/v1/keys.ts";
import { z } from "zod";
import { toHex, toTimestamp } from "../../http/validation.ts";
import { appSchema, deviceSchema, toApp, toDevice } from "./device.ts";
import { toAlgorithm } from "./public-key.ts";

export const keySchema = z.object({
  publicKey: z.string(),
  algorithm: z.string(),
  accountId: z.string(),
  appId: z.string(),
  chainName: z.string(),
  type: z.enum(["user-key", "recover-key"]),
  name: z.string(),
  keyIndex: z.int(),
  weight: z.int(),
  userKey: z
    .object({ type: z.string(), device: deviceSchema.nullable(), devicePublicKey: z.string(), app: appSchema })
    .nullable(),
  recoverKey: z.object({ type: z.string(), cloudKey: z.object({ accountName: z.string() }) }).nullable(),
  pending: z.boolean(),
  createdAt: z.string(),
  lastUsedAt: z.string(),
  revokedAt: z.string(),
});

/** A key as clients see it; `userKey` or `recoverKey` is null, according to its type. */
export function toKey(key: Key): z.infer<typeof keySchema> {
  const { userKey, recoverKey } = key;
  return {
    publicKey: toHex(key.accountKey?.bytes),
    algorithm: toAlgorithm(key.accountKey),
    accountId: key.accountId,
    appId: key.app?.appId ?? "",
    chainName: key.chainName,
    type: recoverKey === undefined ? "user-key" : "recover-key",
    name: key.name,
    keyIndex: key.keyIndex,
    weight: key.weight,
    userKey: userKey
      ? {
          type: userKey.type === UserKeyType.USER_KEY_TYPE_PASSKEY ? "passkey" : "device",
          device: userKey.device ? toDevice(userKey.device) : null,
          devicePublicKey: toHex(userKey.deviceKey?.bytes),
          app: toApp(key.app),
        }
      : null,
    recoverKey: recoverKey
      ? { type: recoverKey.type || "cloud", cloudKey: { accountName: recoverKey.cloudAccountName } }
      : null,
    pending: recoverKey?.pending ?? false,
    createdAt: toTimestamp(key.createdAt),
    lastUsedAt: toTimestamp(key.lastUsedAt),
    revokedAt: toTimestamp(key.revokedAt),
  };
}
