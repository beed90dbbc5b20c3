import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { ProblemError, sendKeyAddition, type TwoFactorApproval, type TwoFactorRequested } from "@countersign/client";
import { networkOf } from "@countersign/testing";
import { expect } from "vitest";
import type { EnrollmentWay } from "./fault-points.ts";
import { createPerson, loginOf, type Person, persist, RETRY_TIMEOUT_MS, recordLine, signIn } from "./person.ts";

/** A second phone of a person who has signed up. */
export interface NewDevice extends Person {
  /** The phone that approves this one. */
  host: Person;
  way: EnrollmentWay;
  /** The id of the 2FA request. */
  requestId: string;
  /** Whether the answer to finishing arrived; otherwise the phone has signed in by challenge. */
  answered: boolean;
}

export const createNewDevice = (host: Person, way: EnrollmentWay, firstGateway: number): NewDevice => {
  const { stack, email, accountId } = host;
  return { ...createPerson(stack, firstGateway), email, accountId, host, way, requestId: "", answered: false };
};

/** How long an approval may take: several restarts and waits for the chain may follow each other. */
const APPROVAL_TIMEOUT_MS = 2 * RETRY_TIMEOUT_MS;

/** Enrolls a new phone: it requests, the old one approves, and both retry until the new one is enrolled. */
export async function enroll(newDevice: NewDevice): Promise<void> {
  const { client, accountId } = newDevice;
  const login = await loginOf(newDevice);
  const { chainName } = networkOf(newDevice.stack);
  const request = { login, chainName, idempotencyKey: randomUUID() };
  const asked = await persist(newDevice, "ask", () => client.requestTwoFactor(request));
  newDevice.requestId = asked.twoFactorAuth.id;

  await Promise.all([approve(newDevice), enter(newDevice, asked)]);
  if (!newDevice.answered) await signIn(newDevice);

  const { publicKey } = newDevice.deviceKey;
  expect((await persist(newDevice, "me", () => client.me())).id).toBe(accountId);
  const devices = await persist(newDevice, "devices", () => client.devices());
  expect(devices.filter((device) => device.publicKey === publicKey)).toHaveLength(1);
  const keys = await persist(newDevice, "keys", () => client.keys());
  expect(keys.filter((key) => key.publicKey === publicKey)).toHaveLength(1);
}

/** Waits as a real client does until it is enrolled, or learns that a lost answer had enrolled it. */
async function enter(newDevice: NewDevice, asked: TwoFactorRequested): Promise<void> {
  // The other phone's approval first, then this one's own answer.
  const signal = AbortSignal.timeout(APPROVAL_TIMEOUT_MS + RETRY_TIMEOUT_MS);
  try {
    await newDevice.client.waitForTwoFactor(asked, { signal });
    newDevice.answered = true;
    recordLine(newDevice, "finish: done");
  } catch (error) {
    recordLine(newDevice, `finish: ${error instanceof ProblemError ? error.error : error}`);
    if (!(error instanceof ProblemError) || error.error !== "TwoFactorAuthFinished") throw error;
  }
}

async function approve(newDevice: NewDevice): Promise<void> {
  const { host, requestId } = newDevice;
  const approval = await approvalOf(newDevice);
  const end = performance.now() + APPROVAL_TIMEOUT_MS;
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
    // On a slow machine the questions of twenty phones would keep the approvals themselves from being served.
    await sleep(1_000);
  }
}

async function approvalOf(newDevice: NewDevice): Promise<TwoFactorApproval> {
  const { way, host, client, deviceKey } = newDevice;
  if (way === "enrollmentBySignature") return { matchingCode: client.matchingCode() };
  const network = networkOf(newDevice.stack);
  const { algorithm, publicKey } = deviceKey;
  const userKey = { algorithm, publicKey };
  const { id } = await persist(newDevice, "add key", () => sendKeyAddition(host.client, { network, userKey }));
  return { txId: id };
}
