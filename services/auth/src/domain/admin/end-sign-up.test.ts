import { AppError } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import type { Deployed, SignUpSaga, SignUpSteps } from "../sign-up/sign-up-saga.ts";
import { cancelSignUp, resumeSignUp } from "./end-sign-up.ts";

const clock = new FixedClock("2026-11-23T10:00:00Z");
const by = { person: "ada", reason: "a ticket of today" };
const of = { accountId: "account", chainName: "flow-emulator" };
const context = { requestId: "request", signal: new AbortController().signal };
const { publicKey } = generateKeyPair();
const saga = { ...of, accountKey: publicKey, done: new Set() } as unknown as SignUpSaga;

describe("resuming a sign-up", () => {
  const resume = async (status: Deployed["status"], failing?: Error) => {
    const calls: string[] = [];
    const admin = {
      leaseSignUp: async () => {
        calls.push("leased and recorded");
        return { actionId: "action", details: [], saga };
      },
    };
    const steps: SignUpSteps<Deployed> = {
      async deployAccount(_saga, { keepFailed }) {
        calls.push(`deploy${keepFailed ? "" : ", also a failed one"}`);
        if (failing) throw failing;
        return { status };
      },
      registerKey: async () => void calls.push("key"),
      registerDevice: async () => void calls.push("device"),
    };
    const run = resumeSignUp({
      admin,
      steps,
      clock,
      mark: async (_saga, taken) => void calls.push(`${taken.at(-1)} done`),
    });
    return { effect: await run(by, of, context), calls };
  };

  it("records it before it drives the steps that are left", async () => {
    const { effect, calls } = await resume("deployed");
    expect(calls.slice(0, 2)).toEqual(["leased and recorded", "deploy, also a failed one"]);
    expect(calls.at(-1)).toBe("RegisterDevice done");
    expect(effect).toEqual({ actionId: "action", details: ["deployment: deployed"] });
  });

  it("answers where it stopped: it was resumed all the same", async () => {
    expect((await resume("failed")).effect.details).toEqual([expect.stringContaining("DeploymentFailed")]);
    const { effect } = await resume("pending", new AppError("Unavailable"));
    expect(effect.details).toEqual([expect.stringContaining("Unavailable")]);
    await expect(resume("pending", new Error("a bug"))).rejects.toThrow("a bug");
  });
});

describe("cancelling a sign-up", () => {
  let leftMs = 0;
  const calls: string[] = [];
  const admin = {
    beginCancel: async () => {
      calls.push("recorded and leased");
      const drivenUntil = new Date(clock.now().getTime() + leftMs);
      return { userKey: publicKey, drivenUntil, leaseUntil: drivenUntil };
    },
    cancelSignUp: async () => {
      calls.push("erased");
      return { actionId: "action", details: [] };
    },
  };

  it("is recorded before the deployment is given up, and erases last", async () => {
    calls.length = 0;
    const cancelDeployment = async (_of: object, key: object) => {
      expect(key).toBe(publicKey);
      calls.push("deployment cancelled");
    };
    await cancelSignUp({ admin, clock, cancelDeployment })(by, of, context);
    expect(calls).toEqual(["recorded and leased", "deployment cancelled", "erased"]);
  });

  it("waits until nobody drives it, and ends with its call", async () => {
    calls.length = 0;
    leftMs = 3_600_000;
    const call = new AbortController();
    const cancelDeployment = async () => void calls.push("deployment cancelled");
    const cancelling = cancelSignUp({ admin, clock, cancelDeployment })(by, of, { ...context, signal: call.signal });
    const ended = expect(cancelling).rejects.toThrow("late");
    call.abort(new Error("late"));
    await ended;
    leftMs = 0;
    expect(calls).toEqual(["recorded and leased"]);
  });

  it("erases nothing where the deployment is on chain; that it was tried is on record", async () => {
    calls.length = 0;
    const cancelDeployment = () => Promise.reject(new AppError("SignUpOnChain"));
    const refused = cancelSignUp({ admin, clock, cancelDeployment })(by, of, context);
    await expect(refused).rejects.toMatchObject({ reason: "SignUpOnChain" });
    expect(calls).toEqual(["recorded and leased"]);
  });
});
