import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { ProblemError, sendKeyAddition, type TwoFactorApproval, type TwoFactorRequested } from "@countersign/client";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import { expect } from "vitest";
import type { EnrollmentWay } from "./fault-points.ts";
import { AGAIN_MS, logIn, newPhone, PATIENCE_MS, type Phone, persist, tell } from "./phone.ts";

/** A second phone of somebody who has signed up. */
export interface Newcomer extends Phone {
  /** The phone that lets this one in. */
  host: Phone;
  way: EnrollmentWay;
  /** Of the request for approval. */
  requestId: string;
  /** Whether the answer that let it in arrived; else it has signed in by challenge. */
  answered: boolean;
}

export const newNewcomer = (stack: Stack, host: Phone, way: EnrollmentWay, first: number): Newcomer => {
  const { email, accountId } = host;
  return { ...newPhone(stack, first), email, accountId, host, way, requestId: "", answered: false };
};

/** A new phone asks, the old one approves meanwhile, and both go on until the new one is in. */
export async function beLetIn(stack: Stack, newcomer: Newcomer): Promise<void> {
  const { client } = newcomer;
  const login = await logIn(stack, newcomer);
  const { chainName } = stack.chains[0]!;
  const request = { login, chainName, idempotencyKey: randomUUID() };
  const asked = await persist(newcomer, "ask", () => client.requestTwoFactor(request));
  newcomer.requestId = asked.twoFactorAuth.id;

  await Promise.all([approve(stack, newcomer, asked), enter(newcomer, asked)]);
  if (!newcomer.answered) await persist(newcomer, "sign-in", () => client.signIn({ login, chainName }));

  const { publicKey } = newcomer.deviceKey;
  expect((await persist(newcomer, "me", () => client.me())).id).toBe(newcomer.accountId);
  const devices = await persist(newcomer, "devices", () => client.devices());
  expect(devices.filter((device) => device.publicKey === publicKey)).toHaveLength(1);
  const keys = await persist(newcomer, "keys", () => client.keys());
  expect(keys.filter((key) => key.publicKey === publicKey)).toHaveLength(1);
}

/** Asks to come in as a real client does: until it is in, or hears that it is in since an answer that got lost. */
async function enter(newcomer: Newcomer, asked: TwoFactorRequested): Promise<void> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  try {
    await newcomer.client.waitForTwoFactor(asked, { signal });
    newcomer.answered = true;
    tell(newcomer, "finish: done");
  } catch (error) {
    tell(newcomer, `finish: ${error instanceof ProblemError ? error.error : error}`);
    if (!(error instanceof ProblemError) || error.error !== "TwoFactorAuthFinished") throw error;
  }
}

async function approve(stack: Stack, newcomer: Newcomer, asked: TwoFactorRequested): Promise<void> {
  const { host, requestId } = newcomer;
  const approval = await approvalOf(stack, newcomer, asked);
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await persist(newcomer, "approve", () => host.client.approveTwoFactor(requestId, approval));
    } catch (error) {
      if (!(error instanceof ProblemError) || performance.now() > end) throw error;
      const waits = ["TwoFactorAuthNotPending", "TransactionPending"].includes(error.error);
      if (!waits) throw error;
    }
    // Ours may have gone through with its answer lost, or be under way still.
    const { status } = await persist(newcomer, "look", () => host.client.twoFactor(requestId));
    if (status === "approved" || status === "finished") return;
    if (status !== "pending") throw new Error(`the request is ${status}`);
    await sleep(AGAIN_MS);
  }
}

async function approvalOf(stack: Stack, newcomer: Newcomer, asked: TwoFactorRequested): Promise<TwoFactorApproval> {
  const { way, host, client, deviceKey } = newcomer;
  if (way === "enrollmentBySignature") return { matchingCode: await client.matchingCode(asked) };
  const [{ chainName, accessNode, paymaster }] = stack.chains as [(typeof stack.chains)[number]];
  const network = { chainName, accessNode, paymaster };
  const { algorithm, publicKey } = deviceKey;
  const userKey = { algorithm, publicKey };
  const { id } = await persist(newcomer, "add key", () => sendKeyAddition(host.client, { network, userKey }));
  return { txId: id };
}
