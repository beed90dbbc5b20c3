import { AppError, isUuid } from "@countersign/core";
import { type PublicKey, PublicKeyError, parsePublicKey } from "@countersign/keys";
import type { Device as WireDevice, PublicKey as WirePublicKey } from "@countersign/proto/common/v1/types.ts";
import { type CallContext, publicKeyFromProto, publicKeyToProto, requireToken } from "@countersign/rpc";
import { z } from "zod";
import { DEVICE_TYPES, type Device, type Session } from "../domain/devices/device.ts";

/** Parses a decoded request by its shape. Errors: InvalidRequest with every invalid field. */
export function parseRequest<T>(shape: z.ZodType<T>, request: unknown): T {
  const result = shape.safeParse(request);
  if (result.success) return result.data;
  const fields = result.error.issues.map(({ path, message }) => ({ pointer: `/${path.join("/")}`, detail: message }));
  throw new AppError("InvalidRequest", { fields });
}

export const uuid = z.string().refine(isUuid, "is not a UUID in lower case");

/** Accepts a client's text about a device: at most `max` UTF-16 units, none of them a control character. */
export const text = (max = 256) =>
  z
    .string()
    .max(max, `has more than ${max} characters`)
    .regex(/^\P{Cc}*$/u, "has control characters");

/** Reads common.v1.PublicKey and checks that it is on its curve. Errors: InvalidPublicKey. */
export const publicKey = (pointer: string) =>
  z.custom<WirePublicKey | undefined>().transform((wire): PublicKey => {
    const key = publicKeyFromProto(wire, pointer);
    try {
      return parsePublicKey(key.publicKey, key.algorithm);
    } catch (error) {
      if (!(error instanceof PublicKeyError)) throw error;
      throw new AppError("InvalidPublicKey", { fields: [{ pointer, detail: error.message }], cause: error });
    }
  });

/** The identity key in a request that names a device: its canonical bytes, as hex. */
export const identityKey = z
  .instanceof(Uint8Array)
  .refine(({ length }) => length === 64 || length === 32, "is not a public key in canonical form")
  .transform((bytes) => Buffer.from(bytes).toString("hex"));

/** common.v1.DeviceAttributes; without a `type` it is a mobile device, as the first clients are. */
export const deviceAttributes = z.object({
  pushToken: text(4096),
  name: text(),
  osName: text(),
  osVersion: text(),
  deviceManufacturer: text(),
  deviceModel: text(),
  lang: text(),
  type: z.preprocess((type) => type || "mobile", z.enum(DEVICE_TYPES)),
  sdkVersion: text(),
});

/** Returns the caller's session. Errors: Unauthenticated. */
export function sessionOf(call: CallContext): Session {
  const { accountId, deviceKey } = requireToken(call);
  return { accountId, deviceKey };
}

export function toWireDevice({ id, accountId, publicKey: key, attributes, createdAt, lastUsedAt }: Device): WireDevice {
  return { id, accountId, publicKey: publicKeyToProto(key), attributes, createdAt, lastUsedAt };
}
