import { generateKeyPairSync } from "node:crypto";
import { v7 } from "uuid";
import type { RegisterKey } from "../domain/register-key.ts";
import type { PublicKey } from "../domain/registration.ts";

/** A new P-256 public key. */
export function somePublicKey(): PublicKey {
  const jwk = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
  const hex = (part = "") => Buffer.from(part, "base64url").toString("hex");
  return { algorithm: "ES256", publicKey: hex(jwk.x) + hex(jwk.y) };
}

/** A registration as sign-up sends it. */
export const someKey = (changes: Partial<RegisterKey> = {}): RegisterKey => ({
  accountId: v7(),
  chainName: "flow-emulator",
  app: { appId: "demo", appName: "Demo wallet" },
  type: "device",
  accountKey: somePublicKey(),
  deviceKey: somePublicKey(),
  name: "Ada's phone",
  keyIndex: 1,
  origin: "sign-up",
  requestId: "test",
  ...changes,
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
