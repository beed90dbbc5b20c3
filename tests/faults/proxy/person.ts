import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Challenge,
  CountersignClient,
  type Credentials,
  type Login,
  ProblemError,
  sendTransaction,
} from "@countersign/client";
import {
  exchangeCode,
  generateDeviceKey,
  loginAtDevelopmentProvider,
  type NodeDeviceKey,
} from "@countersign/client/node";
import type { Stack } from "@countersign/local-stack/stack-file.ts";

/** Somebody with a phone, who repeats what was not answered, and remembers what was. */
export interface Person {
  stack: Stack;
  /** Begins the ids of all of this person's requests. */
  tag: string;
  deviceKey: NodeDeviceKey;
  client: CountersignClient;
  login: Login;
  /** Challenges that were answered with a signature. */
  challenges: Challenge[];
  /** Messages (hex) that this person holds a server's signature of. */
  signed: string[];
  /** What happened, for the message of a failure. */
  story: string[];
}

const RETRY_TIMEOUT_MS = 60_000;
const AGAIN_MS = 100;

/** A phone with a fresh login. */
export async function newPerson(stack: Stack): Promise<Person> {
  const tag = `p${randomBytes(6).toString("hex")}`;
  const deviceKey = generateDeviceKey("ES256");
  const signed: string[] = [];
  const story: string[] = [];
  let requests = 0;
  const fetchTagged: typeof fetch = async (input, init) => {
    const headers = new Headers(init?.headers);
    requests += 1;
    headers.set("x-request-id", `${tag}-${requests}`);
    const { pathname } = new URL(String(input));
    const answer = await fetch(input, { ...init, headers }).catch((error) => {
      story.push(`${pathname} ${error}`);
      throw error;
    });
    const isProblem = answer.headers.get("content-type")?.startsWith("application/problem+json");
    story.push(`${pathname} ${answer.status}${answer.ok || isProblem ? "" : " without a problem document"}`);
    if (pathname.startsWith("/sign/") && answer.ok) signed.push(JSON.parse(String(init?.body)).message as string);
    return answer;
  };
  const client = new CountersignClient({ baseUrl: stack.gateway, deviceKey, fetch: fetchTagged });
  const { issuer, clients } = stack.identityProvider;
  const code = await loginAtDevelopmentProvider({ issuer, ...clients[0]!, email: `${tag}@example.com` });
  const { idToken } = await exchangeCode(issuer, code);
  const login: Login = { method: "id_token_channel", token: idToken, nonce: code.nonce };
  return { stack, tag, deviceKey, client, login, challenges: [], signed, story };
}

/** The answers that were no success, each with its path. */
export const failures = ({ story }: Person): string[] => story.filter((line) => !/ 20\d$/.test(line));

/** Whether an error is an answer for good; everything else is worth another try. */
const isFinal = (error: unknown): error is ProblemError => error instanceof ProblemError && error.status < 500;

/** Repeats `work` until it is answered, or refused for good. */
export async function persist<T>(work: () => Promise<T>): Promise<T> {
  const end = performance.now() + RETRY_TIMEOUT_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (isFinal(error) || performance.now() > end) throw error;
    }
    await sleep(AGAIN_MS);
  }
}

const refusedWith = (error: unknown, code: string): boolean => isFinal(error) && error.error === code;

/** Signs up; an account that exists by now is this person's own, from a request whose answer was lost. */
export async function signUp(person: Person): Promise<void> {
  const { client, login, stack } = person;
  const { chainName } = stack.chains[0]!;
  try {
    await persist(() => client.signUp({ login, chainName }));
  } catch (error) {
    if (!refusedWith(error, "AccountExists")) throw error;
    await signIn(person);
  }
}

/** Waits until the account has its addresses. */
export async function deployed({ client }: Person): Promise<string> {
  const end = performance.now() + RETRY_TIMEOUT_MS;
  for (;;) {
    const { addresses } = await persist(() => client.me());
    const cadence = addresses.find(({ chainType }) => chainType === "cadence");
    if (cadence && addresses.length === 2) return cadence.address;
    if (performance.now() > end) throw new Error("the account has no addresses");
    await sleep(AGAIN_MS);
  }
}

/** Signs in by challenge; one that turns out to be used already is replaced by a fresh one. */
export async function signIn({ client, login, stack, challenges }: Person): Promise<void> {
  const { chainName } = stack.chains[0]!;
  for (;;) {
    const challenge = await persist(() => client.requestChallenge({ login, chainName }));
    challenges.push(challenge);
    try {
      await persist(() => client.respondChallenge(challenge));
      return;
    } catch (error) {
      if (!refusedWith(error, "UnknownChallenge")) throw error;
    }
  }
}

/** Sends a transaction that device, server key and paymaster sign. */
export async function send({ client, stack }: Person, address: string): Promise<void> {
  const network = stack.chains[0]!;
  await persist(() =>
    sendTransaction(client, { network, address, cadence: "transaction { prepare(a: &Account) {} }" }),
  );
}

/** Signs out; a session that is over already is what was wanted. */
export async function signOut({ client }: Person): Promise<void> {
  try {
    await persist(() => client.signOut());
  } catch (error) {
    if (!refusedWith(error, "SessionEnded")) throw error;
  }
}

/** Runs all of a person's operations once. `onRefresh` receives the pair of tokens from the refresh. */
export async function journey(person: Person, onRefresh?: (credentials: Credentials) => void): Promise<void> {
  await signUp(person);
  const address = await deployed(person);
  await signIn(person);
  const credentials = await persist(() => person.client.refresh());
  onRefresh?.(credentials);
  await send(person, address);
  await persist(() => person.client.keys());
  await signOut(person);
}
