import { hasAtMost, invalidFields, isUuid } from "@countersign/core";
import type { PublicKey as ProtoPublicKey } from "@countersign/proto/common/v1/types.ts";
import { z } from "zod";
import { validPublicKeyFromProto } from "./public-key.ts";

/** Parses a decoded request by its shape. Errors: InvalidRequest with every invalid field. */
export function parseRequest<T>(shape: z.ZodType<T>, request: unknown): T {
  const result = shape.safeParse(request);
  if (result.success) return result.data;
  throw invalidFields(
    result.error.issues.map(({ path, message }) => ({ pointer: `/${path.join("/")}`, detail: message })),
  );
}

export const uuidField = z.string().refine(isUuid, "is not a UUID in lower case");

/** A client's text: at most `max` characters, none of them a control character. */
export const textField = (max = 256) =>
  z
    .string()
    .refine((text) => hasAtMost(text, max), `has more than ${max} characters`)
    .regex(/^\P{Cc}*$/u, "has control characters");

/**
 * common.v1.DeviceAttributes; without a `type` it is a mobile device, as the first clients are. One shape for
 * all services: what a sign-up accepts, the device service registers later.
 */
export const deviceAttributes = z.object({
  pushToken: textField(4096),
  name: textField(),
  osName: textField(),
  osVersion: textField(),
  deviceManufacturer: textField(),
  deviceModel: textField(),
  lang: textField(),
  type: z.preprocess((type) => type || "mobile", z.enum(["mobile", "browser", "desktop"])),
  sdkVersion: textField(),
});

/** Reads common.v1.PublicKey and checks that it is on its curve. Errors: InvalidPublicKey. */
export const publicKeyField = (pointer: string) =>
  z.custom<ProtoPublicKey | undefined>().transform((key) => validPublicKeyFromProto(key, pointer));
