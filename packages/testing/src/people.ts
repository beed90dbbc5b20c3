import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import {
  type Account,
  type ClientNetwork,
  type ClientOptions,
  CountersignClient,
  type DeviceAttributes,
  type Login,
  type SignedIn,
} from "@countersign/client";
import { generateDeviceKey, type NodeDeviceKey } from "@countersign/client/node";
import { type AuthorizationCode, exchangeCode, loginAtDevelopmentProvider } from "./development-login.ts";

/** A running stack, as far as a person with a phone needs it: a part of the `stack.json` that it writes. */
export interface TestStack {
  /** The API's base URL, such as `http://localhost:8080`. */
  readonly gateway: string;
  /** The development identity provider and its apps. */
  readonly identityProvider: {
    readonly issuer: string;
    /** The apps; a person logs in at the first. */
    readonly clients: readonly { readonly clientId: string; readonly redirectUri: string }[];
  };
  /** A person signs up on the first. */
  readonly chains: readonly ClientNetwork[];
}

/** Options of a login. */
export interface LoginOptions {
  /** The greatest age of the login in seconds; null: the token does not say when the person logged in. */
  readonly maxAge?: number | null;
  /** Binds the login to a key: `client.loginNonce`. Default: random. */
  readonly nonce?: string;
}

/**
 * Reads the stack.json of a stack that `npm start` runs.
 *
 * @example const stack = readStack("../countersign/.local/stack.json");
 */
export function readStack(file: string): TestStack {
  if (!existsSync(file)) {
    throw new Error(`${file} is not there: run \`npm start\` in the checkout, and wait until it says \`ready\``);
  }
  const { gateway, identityProvider, chains } = JSON.parse(readFileSync(file, "utf8")) as Partial<TestStack>;
  if (!gateway || !identityProvider || !chains) throw new TypeError(`${file} describes no running stack`);
  return { gateway, identityProvider, chains };
}

/** A device key and the SDK's client that uses it. */
export interface Phone {
  /** Its key, in memory. */
  readonly deviceKey: NodeDeviceKey;
  /** Its client, with that key. */
  readonly client: CountersignClient;
}

/** A person who has signed up with a phone. */
export interface Person extends Phone {
  /** The person's e-mail address. */
  readonly email: string;
  /** The login of the sign-up. */
  readonly login: Login;
  /** The answer to the sign-up. */
  readonly signedUp: SignedIn;
  /** 16 hex digits. */
  readonly address: string;
}

/** A login that carries the provider's ID token. */
export type IdTokenLogin = Login & {
  /** The login is an ID token. */
  method: "id_token_channel";
  /** The value that the token carries. */
  nonce: string;
};

/**
 * Creates a phone at the stack's gateway, with a new key unless one is given.
 * @example
 * const connection = new TestNetwork();
 * const { client } = createPhone(stack, { fetch: connection.fetch });
 */
export function createPhone(
  { gateway }: Pick<TestStack, "gateway">,
  { deviceKey = generateDeviceKey(), ...options }: Partial<ClientOptions & { deviceKey: NodeDeviceKey }> = {},
): Phone {
  return { deviceKey, client: new CountersignClient({ baseUrl: gateway, ...options, deviceKey }) };
}

/**
 * Returns the first chain of a stack, as the SDK's functions take it.
 *
 * @example await sendTransaction(client, { network: networkOf(stack), cadence });
 */
export function networkOf({ chains }: Pick<TestStack, "chains">): ClientNetwork {
  const [chain] = chains;
  if (!chain) throw new Error("the stack has no chain");
  const { chainName, accessNode, paymaster } = chain;
  return { chainName, accessNode, paymaster };
}

/**
 * Returns the account's address on Flow, 16 hex digits. Throws where it has none yet.
 *
 * @example const address = flowAddressOf(await client.me());
 */
export function flowAddressOf({ addresses }: Pick<Account, "addresses">): string {
  const found = addresses.find(({ chainType }) => chainType === "cadence");
  if (!found) throw new Error("the account has no address on Flow yet");
  return found.address.slice(2);
}

/**
 * Returns an e-mail address that nobody has used.
 *
 * @example const email = newEmail();
 */
export const newEmail = (): string => `person-${randomUUID()}@example.com`;

/**
 * Logs in at the development provider as the first application; returns the authorization code.
 *
 * @example const { code, codeVerifier } = await authorize(stack, email);
 */
export function authorize(
  { identityProvider: { issuer, clients } }: Pick<TestStack, "identityProvider">,
  email: string,
  options: LoginOptions = {},
): Promise<AuthorizationCode> {
  const [application] = clients;
  if (!application) throw new Error("the stack's identity provider has no client");
  return loginAtDevelopmentProvider({ issuer, ...application, email, ...options });
}

/**
 * Logs in at the development provider; returns the ID token. With `maxAge` null the token does not say when
 * the person logged in.
 *
 * @example await client.signIn({ login: await logIn(stack, email), chainName });
 */
export async function logIn(
  stack: Pick<TestStack, "identityProvider">,
  email: string,
  options: LoginOptions = {},
): Promise<IdTokenLogin> {
  const code = await authorize(stack, email, options);
  const { idToken } = await exchangeCode(stack.identityProvider.issuer, code);
  return { method: "id_token_channel", token: idToken, nonce: code.nonce };
}

/**
 * Signs a person up on the stack's first chain.
 * @example const { signedUp, address } = await signUp(stack, createPhone(stack), await logIn(stack, email));
 */
export async function signUp<P extends Pick<Phone, "client">>(
  stack: TestStack,
  phone: P,
  login: Login,
  device: DeviceAttributes = { name: "Test phone", type: "mobile" },
): Promise<P & Pick<Person, "signedUp" | "address">> {
  const { chainName } = networkOf(stack);
  const signedUp = await phone.client.signUp({ login, chainName, device });
  return { ...phone, signedUp, address: flowAddressOf(signedUp.account) };
}

/**
 * Signs a new person up.
 *
 * @example
 * const ada = await signUpPerson(stack);
 * await sendTransaction(ada.client, { network: networkOf(stack), cadence });
 */
export async function signUpPerson(stack: TestStack, phone: Phone = createPhone(stack)): Promise<Person> {
  const email = newEmail();
  const login = await logIn(stack, email);
  return { ...(await signUp(stack, phone, login)), email, login };
}

/**
 * Enrolls a further phone of a person, approved by the first.
 * @example
 * const ada = await signUpPerson(stack);
 * const tablet = await secondPhone(stack, ada, createPhone(stack));
 */
export async function secondPhone<P extends Pick<Phone, "client">>(
  stack: TestStack,
  { email, client }: Pick<Person, "email" | "client">,
  phone: P,
): Promise<P> {
  const { chainName } = networkOf(stack);
  const asked = await phone.client.requestTwoFactor({ login: await logIn(stack, email), chainName });
  await client.approveTwoFactor(asked.twoFactorAuth.id, { matchingCode: phone.client.matchingCode() });
  await phone.client.waitForTwoFactor(asked, { signal: AbortSignal.timeout(30_000) });
  return phone;
}
