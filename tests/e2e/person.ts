import { randomUUID } from "node:crypto";
import { CountersignClient, type Login, type SignedIn } from "@countersign/client";
import {
  exchangeCode,
  generateDeviceKey,
  loginAtDevelopmentProvider,
  type NodeDeviceKey,
} from "@countersign/client/node";
import type { KeyAlgorithm } from "@countersign/keys";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import { ownStack } from "@countersign/local-stack/testing/own-stack.ts";

/** What the tests reach of the running stack. */
export const stack: Stack = await ownStack();
export const chain = stack.chains[0]!;
export const application = stack.identityProvider.clients[0]!;
export const { chainName } = chain;
/** As the client package wants it. */
export const network = { chainName, accessNode: chain.accessNode, paymaster: chain.paymaster };

/**
 * A fresh login of `email` at the identity provider, as an ID token; with `maxAge` null its time is not
 * known.
 */
export async function logIn(
  email: string,
  options: { maxAge?: number | null } = {},
): Promise<Login & { nonce: string }> {
  const { issuer } = stack.identityProvider;
  const code = await loginAtDevelopmentProvider({ issuer, ...application, email, ...options });
  const { idToken } = await exchangeCode(issuer, code);
  return { method: "id_token_channel", token: idToken, nonce: code.nonce };
}

/** A fresh login of `email`, as an authorization code. */
export async function logInForCode(email: string): Promise<Login> {
  const { issuer } = stack.identityProvider;
  const { code, codeVerifier, redirectUri } = await loginAtDevelopmentProvider({ issuer, ...application, email });
  return { method: "redirect_code_channel", token: code, codeVerifier, redirectUri };
}

export const newEmail = (): string => `person-${randomUUID()}@example.com`;

/** A phone with a key of its own. */
export interface Phone {
  client: CountersignClient;
  deviceKey: NodeDeviceKey;
}

export function newPhone(algorithm: KeyAlgorithm = "ES256"): Phone {
  const deviceKey = generateDeviceKey(algorithm);
  return { deviceKey, client: new CountersignClient({ baseUrl: stack.gateway, deviceKey }) };
}

/** A person who has signed up. */
export interface Person extends Phone {
  email: string;
  login: Login;
  signedUp: SignedIn;
  /** 16 hex digits. */
  address: string;
}

export async function signUpPerson(phone: Phone = newPhone()): Promise<Person> {
  const email = newEmail();
  const login = await logIn(email);
  const signedUp = await phone.client.signUp({ login, chainName, device: { name: "Test phone", type: "mobile" } });
  const address = signedUp.account.addresses.find((entry) => entry.chainType === "cadence")!.address.slice(2);
  return { ...phone, email, login, signedUp, address };
}

/** Enrolls a second phone of a person, approved by the first. */
export async function secondPhone({ email, client }: Pick<Person, "email" | "client">): Promise<Phone> {
  const phone = newPhone();
  const asked = await phone.client.requestTwoFactor({ login: await logIn(email), chainName });
  await client.approveTwoFactor(asked.twoFactorAuth.id, { matchingCode: await phone.client.matchingCode(asked) });
  await phone.client.waitForTwoFactor(asked, { signal: AbortSignal.timeout(30_000) });
  return phone;
}

/** A raw request to the gateway, for what the client package would not send. */
export async function call(
  method: string,
  path: string,
  options: { token?: string | undefined; body?: unknown; headers?: Record<string, string> } = {},
) {
  const response = await fetch(stack.gateway + path, {
    method,
    headers: {
      ...(options.body === undefined ? {} : { "content-type": "application/json" }),
      ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
      ...options.headers,
    },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
}

/** Returns the problem with which a call of the client was refused. */
export async function problemOf(work: Promise<unknown>): Promise<{ status: number; error: string; reason: string }> {
  try {
    await work;
  } catch (error) {
    const { status, error: code, reason } = error as { status: number; error: string; reason: string };
    if (typeof status !== "number") throw error;
    return { status, error: code, reason };
  }
  throw new Error("the call was not refused");
}
