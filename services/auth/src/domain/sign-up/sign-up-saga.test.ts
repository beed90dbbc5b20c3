import { AppError } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import {
  type Deployed,
  driveSignUp,
  SIGN_UP_STEPS,
  type SignUpSaga,
  type SignUpStep,
  type SignUpSteps,
} from "./sign-up-saga.ts";

const { publicKey } = generateKeyPair();
const saga = (done: readonly SignUpStep[] = []): SignUpSaga => ({
  accountId: "account",
  chainName: "flow-emulator",
  app: { appId: "demo", appName: "Demo" },
  userKeyType: "device",
  accountKey: publicKey,
  deviceKey: publicKey,
  device: {} as SignUpSaga["device"],
  deviceId: "device",
  sessionId: "session",
  profileImageUrl: "",
  createdAt: new Date(0),
  done: new Set(done),
  leaseUntil: new Date(0),
});

/** Drives a saga against a chain in this state; `failing` is the step whose service does not answer. */
async function drive(of: SignUpSaga, status: Deployed["status"], failing?: SignUpStep) {
  const calls: string[] = [];
  const call = async (step: SignUpStep) => {
    calls.push(step);
    if (step === failing) throw new AppError("Unavailable");
  };
  const steps: SignUpSteps<Deployed> = {
    async deployAccount(_saga, { waitMs }) {
      expect(waitMs).toBe(1000);
      await call("DeployAccount");
      return { status };
    },
    registerKey: () => call("RegisterKey"),
    registerDevice: () => call("RegisterDevice"),
  };
  const answer = await driveSignUp(of, {
    steps,
    mark: async (_saga, marked) => void calls.push(`${marked.join()} done`),
    clock: { now: () => new Date(0) },
    waitMs: 1000,
    keepFailed: false,
    context: { requestId: "request", signal: new AbortController().signal },
  }).catch((error) => error);
  return { calls, answer };
}

describe("driveSignUp", () => {
  it("takes the steps in their order and marks them together", async () => {
    const { calls, answer } = await drive(saga(), "deployed");
    expect(calls).toEqual([...SIGN_UP_STEPS, `${SIGN_UP_STEPS.join()} done`]);
    expect(answer).toEqual({ status: "deployed" });
  });

  it("does not take or mark again what is done, and asks for the deployment each time", async () => {
    expect((await drive(saga(SIGN_UP_STEPS), "deployed")).calls).toEqual(["DeployAccount"]);
    expect((await drive(saga(["DeployAccount", "RegisterKey"]), "deployed")).calls).toEqual([
      "DeployAccount",
      "RegisterDevice",
      "RegisterDevice done",
    ]);
    expect((await drive(saga(["RegisterDevice"]), "deployed")).calls).toEqual([
      "DeployAccount",
      "RegisterKey",
      "DeployAccount,RegisterKey done",
    ]);
  });

  it("registers key and device while the chain is slow, and leaves the deployment open", async () => {
    const { calls, answer } = await drive(saga(), "pending");
    expect(calls).toEqual(["DeployAccount", "RegisterKey", "RegisterDevice", "RegisterKey,RegisterDevice done"]);
    expect(answer).toEqual({ status: "pending" });
  });

  it("registers nothing for a deployment that the chain refused", async () => {
    const { calls, answer } = await drive(saga(), "failed");
    expect(calls).toEqual(["DeployAccount"]);
    expect(answer).toMatchObject({ reason: "DeploymentFailed" });
  });

  it.each(SIGN_UP_STEPS)("stops at %s where its service does not answer, and marks those before it", async (step) => {
    const { calls, answer } = await drive(saga(), "deployed", step);
    const before = SIGN_UP_STEPS.slice(0, SIGN_UP_STEPS.indexOf(step));
    expect(calls).toEqual([...before, step, ...(before.length > 0 ? [`${before.join()} done`] : [])]);
    expect(answer).toMatchObject({ reason: "Unavailable" });
  });
});
