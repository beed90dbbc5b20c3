import { uuidv7 } from "@countersign/core";
import type { FixedClock } from "@countersign/core/testing";
import { generateKeyPair } from "@countersign/keys/node";
import type { LoginProfile } from "../domain/login.ts";
import { decideSignUp } from "../domain/sign-up/sign-up.ts";
import { SIGN_UP_STEPS } from "../domain/sign-up/sign-up-saga.ts";
import { postgresSignUpStore } from "../store/postgres-sign-up-store.ts";
import { sampleDevice } from "./sample-device.ts";
import { app, now, postgres, prisma } from "./store-fixture.ts";

export const chainName = "flow-emulator";

/** Signs a person up; `complete` takes all steps. */
export async function signUp(clock: FixedClock, profile: LoginProfile, complete = true) {
  const { publicKey } = generateKeyPair();
  const store = postgresSignUpStore(prisma, postgres);
  const leased = await store.lease(
    {
      profile,
      chainName,
      app,
      userKeyType: "device",
      accountKey: publicKey,
      deviceKey: publicKey,
      device: sampleDevice,
      deviceId: uuidv7(clock),
      sessionId: uuidv7(clock),
      profileImageUrl: "",
      newAccountId: uuidv7(clock),
      session: undefined,
      idempotency: undefined,
      leaseUntil: new Date(now.getTime() + 30_000),
      now,
    },
    decideSignUp,
  );
  if (leased.kind !== "drive") throw new Error(leased.kind);
  if (complete) await store.mark(leased.saga, SIGN_UP_STEPS, now);
  return leased.saga;
}
