import { type UserKey, UserKeyType } from "@countersign/proto/common/v1/types.ts";
import { z } from "zod";
import { optionalText } from "../../http/validation.ts";
import { algorithmSchema, fromPublicKey, guessPublicKey, publicKeySchema } from "./public-key.ts";

/** The device in a sign-up body. */
const deviceBody = z.object({
  /** Absent or "": the account key. */
  publicKey: optionalText(),
  algorithm: algorithmSchema.optional(),
  pushToken: optionalText(4_096),
  name: optionalText(),
  osName: optionalText(),
  osVersion: optionalText(),
  deviceManufacturer: optionalText(),
  deviceModel: optionalText(),
  lang: optionalText(),
  type: z.enum(["mobile", "browser", "desktop"]).default("mobile"),
  sdkVersion: optionalText(),
});

/** A user key in a sign-up body. Its `app` is ignored: the login token's audience decides. */
export const userKeyBody = z.object({
  type: z.enum(["device", "passkey"]),
  publicKey: publicKeySchema,
  algorithm: algorithmSchema.optional(),
  device: deviceBody,
});

/**
 * The contract's form of a body's user key. A device without a key of its own is known by the account key.
 * Errors: InvalidPublicKey.
 */
export function fromUserKey(body: z.output<typeof userKeyBody>, pointer: string): UserKey {
  const { publicKey, algorithm, ...attributes } = body.device;
  const accountKey = fromPublicKey(body.publicKey, body.algorithm, `${pointer}/publicKey`);
  return {
    type: body.type === "passkey" ? UserKeyType.USER_KEY_TYPE_PASSKEY : UserKeyType.USER_KEY_TYPE_DEVICE,
    accountKey,
    deviceKey: publicKey
      ? guessPublicKey(publicKey, algorithm, [body.algorithm ?? "ES256", "ES256"], `${pointer}/device/publicKey`)
      : accountKey,
    device: attributes,
  };
}
