import { generateKeyPairSync } from "node:crypto";
import { v7 } from "uuid";
import type { DeviceAttributes, PublicKey } from "../domain/device.ts";

/** A new P-256 public key. */
export function somePublicKey(): PublicKey {
  const jwk = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
  const hex = (part = "") => Buffer.from(part, "base64url").toString("hex");
  return { algorithm: "ES256", publicKey: hex(jwk.x) + hex(jwk.y) };
}

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

/** A registration as sign-up sends it. */
export const someRegistration = (accountId: string, publicKey = somePublicKey()) => ({
  accountId,
  deviceId: v7(),
  publicKey,
  attributes: someAttributes,
  requestId: "test",
});

/** A clock that the test moves. */
export function someClock(start = "2026-11-20T10:00:00.000Z") {
  let time = Date.parse(start);
  return {
    now: () => new Date(time),
    forward(milliseconds: number) {
      time += milliseconds;
    },
  };
}
