import { z } from "zod";
import { Algorithm, createdAt, described, lastUsedAt, open, PublicKeyHex, resource, Uuid } from "../formats.ts";

export const DEVICE_TYPES = ["mobile", "browser", "desktop"] as const;

export const DeviceType = z.enum(DEVICE_TYPES).meta({
  id: "DeviceType",
  description: "The kind of a device.",
  examples: ["mobile"],
});

export const Device = resource("Device", "A registered device. Texts that it has not stated are empty.", {
  id: Uuid.meta({ description: "The device's id." }),
  publicKey: PublicKeyHex.meta({ description: "The identity key of the device." }),
  algorithm: open(Algorithm),
  sdkVersion: described("The version of the client library.", "0.1.0"),
  pushToken: described(
    'The push registration, which changes when the operating system changes it; "" for a device other than the session\'s.',
    "push-registration",
  ),
  name: described("The name that the person sees.", "Ada's phone"),
  osName: described("The operating system.", "Android"),
  osVersion: described("The operating system's version.", "16"),
  deviceManufacturer: described("The maker of the device.", "Google"),
  deviceModel: described("The model of the device.", "Pixel 9"),
  lang: described("The language of the device (BCP 47).", "en-GB"),
  type: open(DeviceType),
  createdAt,
  lastUsedAt,
});
export type Device = z.infer<typeof Device>;
