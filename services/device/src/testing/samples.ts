import type { DeviceAttributes } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";
import { v7 } from "uuid";

/** Returns a new P-256 public key. */
export const somePublicKey = (): PublicKey => generateKeyPair().publicKey;

export const someAttributes: DeviceAttributes = {
  pushToken: "",
  name: "Ada's phone",
  osName: "Android",
  osVersion: "16",
  deviceManufacturer: "Fairphone",
  deviceModel: "FP6",
  lang: "en",
  type: "mobile",
  sdkVersion: "",
};

/** Returns a registration as sign-up sends it. */
export const someRegistration = (accountId: string, publicKey = somePublicKey()) => ({
  accountId,
  deviceId: v7(),
  publicKey,
  attributes: someAttributes,
  requestId: "test",
});
