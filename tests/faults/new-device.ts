import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { ProblemError, sendKeyAddition, type TwoFactorApproval, type TwoFactorRequested } from "@countersign/client";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import { expect } from "vitest";
import type { EnrollmentWay } from "./fault-points.ts";
import { AGAIN_MS, logIn, newPhone, type Phone, persist, RETRY_TIMEOUT_MS, recordLine } from "./phone.ts";

/** A second phone of a person who has signed up. */
export interface NewDevice extends Phone {
  /** The phone that approves this one. */
  host: Phone;
  way: EnrollmentWay;
  /** The id of the 2FA request. */
  requestId: string;
  /** Whether the answer to finishing arrived; otherwise the phone has signed in by challenge. */
  answered: boolean;
}

export const createNewDevice = (stack: Stack, host: Phone, way: EnrollmentWay, first: number): NewDevice => {
  const { email, accountId } = host;
  return { ...newPhone(stack, first), email, accountId, host, way, requestId: "", answered: false };
};

/** Enrolls a new phone: it requests, the old one approves, and both retry until the new one is enrolled. */
export async function enroll(stack: Stack, newDevice: NewDevice): Promise<void> {
  const { client } = newDevice;
  const login = await logIn(stack, newDevice);
  const { chainName } = stack.chains[0]!;
  const request = { login, chainName, idempotencyKey: randomUUID() };
  const asked = await persist(newDevice, "ask", () => client.requestTwoFactor(request));
  newDevice.requestId = asked.twoFactorAuth.id;

  await Promise.all([approve(stack, newDevice, asked), enter(newDevice, asked)]);
  if (!newDevice.answered) await persist(newDevice, "sign-in", () => client.signIn({ login, chainName }));

  const { publicKey } = newDevice.deviceKey;
  expect((await persist(newDevice, "me", () => client.me())).id).toBe(newDevice.accountId);
  const devices = await persist(newDevice, "devices", () => client.devices());
  expect(devices.filter((device) => device.publicKey === publicKey)).toHaveLength(1);
  const keys = await persist(newDevice, "keys", () => client.keys());
  expect(keys.filter((key) => key.publicKey === publicKey)).toHaveLength(1);
}

/** Waits as a real client does until it is enrolled, or learns that a lost answer had enrolled it. */
async function enter(newDevice: NewDevice, asked: TwoFactorRequested): Promise<void> {
  const signal = AbortSignal.timeout(RETRY_TIMEOUT_MS);
  try {
    await newDevice.client.waitForTwoFactor(asked, { signal });
    newDevice.answered = true;
    recordLine(newDevice, "finish: done");
  } catch (error) {
    recordLine(newDevice, `finish: ${error instanceof ProblemError ? error.error : error}`);
    if (!(error instanceof ProblemError) || error.error !== "TwoFactorAuthFinished") throw error;
  }
}

async function approve(stack: Stack, newDevice: NewDevice, asked: TwoFactorRequested): Promise<void> {
  const { host, requestId } = newDevice;
  const approval = await approvalOf(stack, newDevice, asked);
  const end = performance.now() + RETRY_TIMEOUT_MS;
  for (;;) {
    try {
      return await persist(newDevice, "approve", () => host.client.approveTwoFactor(requestId, approval));
    } catch (error) {
      if (!(error instanceof ProblemError) || performance.now() > end) throw error;
      const waits = ["TwoFactorAuthNotPending", "TransactionPending"].includes(error.error);
      if (!waits) throw error;
    }
    // The approval may have succeeded with its answer lost, or may still be running.
    const { status } = await persist(newDevice, "look", () => host.client.twoFactor(requestId));
    if (status === "approved" || status === "finished") return;
    if (status !== "pending") throw new Error(`the request is ${status}`);
    await sleep(AGAIN_MS);
  }
}

async function approvalOf(stack: Stack, newDevice: NewDevice, asked: TwoFactorRequested): Promise<TwoFactorApproval> {
  const { way, host, client, deviceKey } = newDevice;
  if (way === "enrollmentBySignature") return { matchingCode: await client.matchingCode(asked) };
  const [{ chainName, accessNode, paymaster }] = stack.chains as [(typeof stack.chains)[number]];
  const network = { chainName, accessNode, paymaster };
  const { algorithm, publicKey } = deviceKey;
  const userKey = { algorithm, publicKey };
  const { id } = await persist(newDevice, "add key", () => sendKeyAddition(host.client, { network, userKey }));
  return { txId: id };
}
