import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { CountersignClient, type Login, ProblemError, sendTransaction } from "@countersign/client";
import {
  exchangeCode,
  generateDeviceKey,
  loginAtDevelopmentProvider,
  type NodeDeviceKey,
} from "@countersign/client/node";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import { expect } from "vitest";

/** A person with a phone that retries, at the other gateway, until an answer is final. */
export interface Phone {
  email: string;
  deviceKey: NodeDeviceKey;
  client: CountersignClient;
  accountId: string;
  /** What happened to this person, for the message of a failure. */
  story: string[];
}

/** How long a phone retries one call: longer than any lease, restart and wait for the chain together. */
export const RETRY_TIMEOUT_MS = 120_000;
export const AGAIN_MS = 250;

export function newPhone(stack: Stack, first: number): Phone {
  const deviceKey = generateDeviceKey();
  let current = first % stack.gateways.length;
  const fetchAnywhere: typeof fetch = async (input, init) => {
    const url = String(input).replace(stack.gateway, stack.gateways[current] as string);
    try {
      return await fetch(url, init);
    } catch (error) {
      current = (current + 1) % stack.gateways.length;
      throw error;
    }
  };
  const client = new CountersignClient({ baseUrl: stack.gateway, deviceKey, fetch: fetchAnywhere });
  return { email: `fault-${randomUUID()}@example.com`, deviceKey, client, accountId: "", story: [] };
}

/** Repeats `work` until it succeeds or is refused with an error that is not retryable. */
export async function persist<T>(phone: Phone, what: string, work: () => Promise<T>): Promise<T> {
  const end = performance.now() + RETRY_TIMEOUT_MS;
  for (;;) {
    try {
      const result = await work();
      recordLine(phone, `${what}: done`);
      return result;
    } catch (error) {
      recordLine(phone, `${what}: ${describe(error)}`);
      const again = !(error instanceof ProblemError) || error.status >= 500 || error.status === 429;
      if (!again || performance.now() > end) throw error;
    }
    await sleep(AGAIN_MS);
  }
}

function describe(error: unknown): string {
  if (error instanceof ProblemError) return `${error.status} ${error.error}`;
  return error instanceof Error
    ? `${error.message} ${(error.cause as { code?: string } | undefined)?.code ?? ""}`
    : "?";
}

/** Adds a line with the time to the phone's story. */
export function recordLine(phone: Phone, line: string): void {
  phone.story.push(`${new Date().toISOString().slice(11, 23)} ${line}`);
}

export async function logIn(stack: Stack, phone: Phone): Promise<Login> {
  const { issuer, clients } = stack.identityProvider;
  const code = await loginAtDevelopmentProvider({ issuer, ...clients[0]!, email: phone.email });
  const { idToken } = await exchangeCode(issuer, code);
  return { method: "id_token_channel", token: idToken, nonce: code.nonce };
}

/** Signs up as a real client does: repeats the request, and signs in by challenge if the account exists. */
export async function signUp(stack: Stack, phone: Phone, login: Login, withIdempotencyKey: boolean): Promise<void> {
  const { chainName } = stack.chains[0]!;
  const request = { login, chainName, ...(withIdempotencyKey ? { idempotencyKey: randomUUID() } : {}) };
  try {
    const { account } = await persist(phone, "sign-up", () => phone.client.signUp(request));
    phone.accountId = account.id;
  } catch (error) {
    if (!(error instanceof ProblemError) || error.error !== "AccountExists") throw error;
    const { account } = await persist(phone, "sign-in", () => phone.client.signIn({ login, chainName }));
    phone.accountId = account.id;
  }
}

/** Waits until the person has both addresses, one device and one key. */
export async function settle(phone: Phone): Promise<void> {
  const { client } = phone;
  const end = performance.now() + RETRY_TIMEOUT_MS;
  for (;;) {
    const { id, addresses } = await persist(phone, "me", () => client.me());
    expect(id).toBe(phone.accountId);
    if (addresses.length === 2) break;
    if (performance.now() > end) throw new Error("the account got no addresses");
    await sleep(AGAIN_MS);
  }
  expect(await persist(phone, "devices", () => client.devices())).toHaveLength(1);
  expect(await persist(phone, "keys", () => client.keys())).toHaveLength(1);
}

/** Sends a transaction that the server co-signs and the paymaster pays. */
export async function transact(stack: Stack, phone: Phone): Promise<string> {
  const [{ chainName, accessNode, paymaster }] = stack.chains as [(typeof stack.chains)[number]];
  const network = { chainName, accessNode, paymaster };
  const cadence = "transaction { prepare(account: &Account) {} }";
  // A submitted transaction without an answer is not sent again: the next one has a new sequence number.
  const { id } = await persist(phone, "transaction", () => sendTransaction(phone.client, { network, cadence }));
  return id;
}
