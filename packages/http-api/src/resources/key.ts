import { z } from "zod";
import {
  Algorithm,
  ChainName,
  createdAt,
  described,
  lastUsedAt,
  OptionalTimestamp,
  open,
  openEnum,
  PublicKeyHex,
  resource,
  text,
  Uuid,
} from "../formats.ts";
import { Device } from "./device.ts";
import { App } from "./session.ts";

export const UserKeyType = z.enum(["device", "passkey"]).meta({
  id: "UserKeyType",
  description: "A key of a device's own key store, or a passkey.",
  examples: ["device"],
});

export const UserKey = resource("UserKey", "The device that a user key belongs to.", {
  type: open(UserKeyType),
  device: Device.nullable().meta({
    description: "null where the device was removed, or the key came onto the chain without one.",
  }),
  devicePublicKey: PublicKeyHex.meta({ description: "The identity key of the device, also where `device` is null." }),
  app: App,
});

export const CloudKey = resource("CloudKey", "The place that keeps a recovery key.", {
  accountName: text().meta({
    description: "The cloud account that keeps the key.",
    examples: ["ada@cloud.example"],
  }),
});

export const RecoveryKey = resource("RecoveryKey", "The place that keeps a recovery key, by kind.", {
  type: described("The kind of place that keeps the key: `cloud`.", "cloud"),
  cloudKey: CloudKey,
});

export const Key = resource("Key", "A key of the account. The chain decides about index, weight and revocation.", {
  publicKey: PublicKeyHex.meta({ description: "The key that is on chain." }),
  algorithm: open(Algorithm),
  accountId: Uuid.meta({ description: "The account's id." }),
  appId: described("The app that registered the key.", "demo"),
  chainName: ChainName,
  type: openEnum(["user-key", "recover-key"], "A key of a device, or the account's recovery key."),
  name: described("The name that the person sees.", "Ada's phone"),
  keyIndex: z.int32().meta({ description: "The key's index on chain; -1 while it is pending.", examples: [1] }),
  weight: z.int32().meta({ description: "The key's weight on chain; 1000 sign a transaction.", examples: [1] }),
  userKey: UserKey.nullable().meta({ description: "null for a recovery key." }),
  recoverKey: RecoveryKey.nullable().meta({ description: "null for a user key." }),
  pending: z
    .boolean()
    .meta({ description: "true for a recovery key that the chain does not show yet.", examples: [false] }),
  createdAt,
  lastUsedAt,
  revokedAt: OptionalTimestamp.meta({ description: 'The time of the revocation; "" for an active key.' }),
});
export type Key = z.infer<typeof Key>;
