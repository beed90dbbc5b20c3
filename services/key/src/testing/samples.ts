import type { PublicKey } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";
import { v7 } from "uuid";
import type { RegisterKey } from "../domain/register-key.ts";

/** Returns a new P-256 public key. */
export const somePublicKey = (): PublicKey => generateKeyPair().publicKey;

/** Returns a registration as sign-up sends it. */
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
