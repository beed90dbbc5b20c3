import { uuidv7 } from "@countersign/core";
import type { FixedClock } from "@countersign/core/testing";
import type { LoginProfile } from "../domain/login.ts";
import { decideSignUp } from "../domain/sign-up/sign-up.ts";
import { SIGN_UP_STEPS } from "../domain/sign-up/sign-up-saga.ts";
import { postgresSignUpStore } from "../store/postgres-sign-up-store.ts";
import { commandOf } from "./sign-up-command.ts";
import { now, postgres, prisma } from "./store-fixture.ts";

export const chainName = "flow-emulator";

/** Signs a person up; `complete` takes all steps. */
export async function signUp(clock: FixedClock, profile: LoginProfile, complete = true) {
  const store = postgresSignUpStore(prisma, postgres);
  const ids = { deviceId: uuidv7(clock), sessionId: uuidv7(clock), newAccountId: uuidv7(clock) };
  const leased = await store.lease(commandOf(profile, { chainName, ...ids }), decideSignUp);
  if (leased.kind !== "drive") throw new Error(leased.kind);
  if (complete) await store.mark(leased.saga, SIGN_UP_STEPS, now);
  return leased.saga;
}
