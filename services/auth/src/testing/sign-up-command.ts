import { uuidv7 } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import type { LoginProfile } from "../domain/login.ts";
import type { LeaseSignUp } from "../domain/sign-up/sign-up-saga.ts";
import { sampleDevice } from "./sample-device.ts";
import { app, clock, now } from "./store-fixture.ts";

/** Returns a request to begin or resume a sign-up, with a new key. */
export const commandOf = (profile: LoginProfile, change: Partial<LeaseSignUp> = {}): LeaseSignUp => {
  const accountKey = change.accountKey ?? generateKeyPair().publicKey;
  return {
    profile,
    chainName: "flow-emulator",
    app,
    userKeyType: "device",
    accountKey,
    deviceKey: accountKey,
    device: sampleDevice,
    deviceId: uuidv7(clock),
    sessionId: uuidv7(clock),
    profileImageUrl: "",
    newAccountId: uuidv7(clock),
    session: undefined,
    idempotency: undefined,
    leaseUntil: new Date(now.getTime() + 30_000),
    now,
    ...change,
  };
};
