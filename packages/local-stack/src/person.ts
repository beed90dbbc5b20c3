import { randomUUID } from "node:crypto";
import {
  type Account,
  type ClientNetwork,
  type ClientOptions,
  CountersignClient,
  type DeviceAttributes,
  type Login,
  type SignedIn,
} from "@countersign/client";
import {
  exchangeCode,
  generateDeviceKey,
  loginAtDevelopmentProvider,
  type NodeDeviceKey,
} from "@countersign/client/node";

/** The part of stack.json that a person with a phone needs. */
export interface Surroundings {
  readonly gateway: string;
  readonly identityProvider: {
    readonly issuer: string;
    readonly clients: readonly { readonly clientId: string; readonly redirectUri: string }[];
  };
  readonly chains: readonly ClientNetwork[];
}

/** A device key and the SDK's client that uses it. */
export interface Phone {
  readonly deviceKey: NodeDeviceKey;
  readonly client: CountersignClient;
}

/** A person who has signed up with a phone. */
export interface Person extends Phone {
  readonly email: string;
  readonly login: Login;
  readonly signedUp: SignedIn;
  /** 16 hex digits. */
  readonly address: string;
}

export type IdTokenLogin = Login & { method: "id_token_channel"; nonce: string };

/** Creates a phone at the stack's gateway, with a new key unless one is given. */
export function createPhone(
  { gateway }: Pick<Surroundings, "gateway">,
  { deviceKey = generateDeviceKey(), ...options }: Partial<ClientOptions & { deviceKey: NodeDeviceKey }> = {},
): Phone {
  return { deviceKey, client: new CountersignClient({ baseUrl: gateway, ...options, deviceKey }) };
}

/** Returns the first chain of a stack, as the SDK's functions take it. */
export function networkOf({ chains }: Pick<Surroundings, "chains">): ClientNetwork {
  const [chain] = chains;
  if (!chain) throw new Error("the stack has no chain");
  const { chainName, accessNode, paymaster } = chain;
  return { chainName, accessNode, paymaster };
}

/** Returns the account's address on Flow, 16 hex digits. Throws where it has none yet. */
export function flowAddressOf({ addresses }: Pick<Account, "addresses">): string {
  const found = addresses.find(({ chainType }) => chainType === "cadence");
  if (!found) throw new Error("the account has no address on Flow yet");
  return found.address.slice(2);
}

/** Returns an e-mail address that nobody has used. */
export const newEmail = (): string => `person-${randomUUID()}@example.com`;

/** Logs in at the development provider as the first application; returns the authorization code. */
export function authorize(
  { identityProvider: { issuer, clients } }: Pick<Surroundings, "identityProvider">,
  email: string,
  options: { maxAge?: number | null; nonce?: string } = {},
) {
  const [application] = clients;
  if (!application) throw new Error("the stack's identity provider has no client");
  return loginAtDevelopmentProvider({ issuer, ...application, email, ...options });
}

/**
 * Logs in at the development provider; returns the ID token. With `maxAge` null the token does not say when
 * the person logged in.
 */
export async function logIn(
  stack: Pick<Surroundings, "identityProvider">,
  email: string,
  options: { maxAge?: number | null; nonce?: string } = {},
): Promise<IdTokenLogin> {
  const code = await authorize(stack, email, options);
  const { idToken } = await exchangeCode(stack.identityProvider.issuer, code);
  return { method: "id_token_channel", token: idToken, nonce: code.nonce };
}

/** Signs a person up on the stack's first chain. */
export async function signUp<P extends Pick<Phone, "client">>(
  stack: Surroundings,
  phone: P,
  login: Login,
  device: DeviceAttributes = { name: "Test phone", type: "mobile" },
): Promise<P & Pick<Person, "signedUp" | "address">> {
  const { chainName } = networkOf(stack);
  const signedUp = await phone.client.signUp({ login, chainName, device });
  return { ...phone, signedUp, address: flowAddressOf(signedUp.account) };
}

/** Signs a new person up. */
export async function signUpPerson(stack: Surroundings, phone: Phone = createPhone(stack)): Promise<Person> {
  const email = newEmail();
  const login = await logIn(stack, email);
  return { ...(await signUp(stack, phone, login)), email, login };
}

/** Enrolls a further phone of a person, approved by the first. */
export async function secondPhone<P extends Pick<Phone, "client">>(
  stack: Surroundings,
  { email, client }: Pick<Person, "email" | "client">,
  phone: P,
): Promise<P> {
  const { chainName } = networkOf(stack);
  const asked = await phone.client.requestTwoFactor({ login: await logIn(stack, email), chainName });
  await client.approveTwoFactor(asked.twoFactorAuth.id, { matchingCode: await phone.client.matchingCode(asked) });
  await phone.client.waitForTwoFactor(asked, { signal: AbortSignal.timeout(30_000) });
  return phone;
}
