import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Challenge, type Credentials, type Login, ProblemError, sendTransaction } from "@countersign/client";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import { createPhone, flowAddressOf, logIn, networkOf, type Phone } from "@countersign/testing";
import { expect } from "vitest";

/** A person whose phone repeats a request, at the next gateway, until the answer is final. */
export interface Person extends Phone {
  readonly stack: Stack;
  /** Begins the ids of all of this person's requests. */
  readonly tag: string;
  readonly email: string;
  login?: Login;
  /** "" until the sign-up is answered. */
  accountId: string;
  /** On Flow, 16 hex digits; "" until `deployed` has returned. */
  address: string;
  /** Challenges that were answered with a signature. */
  readonly challenges: Challenge[];
  /** Messages (hex) that this person holds a server's signature of. */
  readonly signed: string[];
  /** The path and the status, or the error, of every request. */
  readonly answers: string[];
  /** The steps taken and when, for the message of a failure. */
  readonly story: string[];
}

/** How long a phone repeats one call: longer than any lease, restart and wait for the chain together. */
export const RETRY_TIMEOUT_MS = 110_000;
export const AGAIN_MS = 250;

/** Creates a person who begins at this gateway and has not logged in yet. */
export function createPerson(stack: Stack, firstGateway = 0): Person {
  const tag = `p${randomBytes(6).toString("hex")}`;
  const signed: string[] = [];
  const answers: string[] = [];
  const story: string[] = [];
  const noteAnswer = (line: string) => {
    answers.push(line);
    story.push(withTime(line));
  };
  let current = firstGateway % stack.gateways.length;
  let requests = 0;
  const fetchAnywhere: typeof fetch = async (input, init) => {
    const url = String(input).replace(stack.gateway, stack.gateways[current]!);
    const { pathname } = new URL(url);
    const headers = new Headers(init?.headers);
    requests += 1;
    headers.set("x-request-id", `${tag}-${requests}`);
    const answer = await fetch(url, { ...init, headers }).catch((error: Error) => {
      current = (current + 1) % stack.gateways.length;
      noteAnswer(`${pathname} ${error} ${(error.cause as { code?: string } | undefined)?.code ?? ""}`);
      throw error;
    });
    const isProblem = answer.headers.get("content-type")?.startsWith("application/problem+json");
    noteAnswer(`${pathname} ${answer.status}${answer.ok || isProblem ? "" : " without a problem document"}`);
    if (pathname.startsWith("/sign/") && answer.ok) signed.push(JSON.parse(String(init?.body)).message as string);
    return answer;
  };
  return {
    ...createPhone(stack, { fetch: fetchAnywhere }),
    ...{ stack, tag, email: `${tag}@example.com`, accountId: "", address: "" },
    ...{ challenges: [], signed, answers, story },
  };
}

const withTime = (line: string): string => `${new Date().toISOString().slice(11, 23)} ${line}`;

/** Adds a line with the time to the person's story. */
export function recordLine({ story }: Person, line: string): void {
  story.push(withTime(line));
}

/** Returns the answers that were no success. */
export const failures = ({ answers }: Person): string[] => answers.filter((line) => !/ 20\d$/.test(line));

/** Returns the person's login; logs in when it is needed first. */
export async function loginOf(person: Person): Promise<Login> {
  person.login ??= await logIn(person.stack, person.email);
  return person.login;
}

/** Creates a person with a fresh login. */
export async function newPerson(stack: Stack): Promise<Person> {
  const person = createPerson(stack);
  await loginOf(person);
  return person;
}

/** Returns whether repeating the request cannot change the answer. */
const isFinal = (error: unknown): error is ProblemError =>
  error instanceof ProblemError && error.status < 500 && error.status !== 429;

const refusedWith = (error: unknown, code: string): boolean => isFinal(error) && error.error === code;

/** Repeats `work` until it succeeds or is refused with an error that is not retryable. */
export async function persist<T>(person: Person, what: string, work: () => Promise<T>): Promise<T> {
  const end = performance.now() + RETRY_TIMEOUT_MS;
  for (;;) {
    try {
      const result = await work();
      recordLine(person, `${what}: done`);
      return result;
    } catch (error) {
      recordLine(person, `${what}: ${error instanceof ProblemError ? `${error.status} ${error.error}` : error}`);
      if (isFinal(error) || performance.now() > end) throw error;
    }
    await sleep(AGAIN_MS);
  }
}

/** Signs up as a client does: repeats the request, and signs in if one without an answer had succeeded. */
export async function signUp(person: Person, { idempotent = false } = {}): Promise<void> {
  const { chainName } = networkOf(person.stack);
  const login = await loginOf(person);
  const request = { login, chainName, ...(idempotent && { idempotencyKey: randomUUID() }) };
  try {
    const { account } = await persist(person, "sign-up", () => person.client.signUp(request));
    person.accountId = account.id;
  } catch (error) {
    if (!refusedWith(error, "AccountExists")) throw error;
    await signIn(person);
  }
}

/** Signs in by challenge; replaces a challenge that turns out to be used already. */
export async function signIn(person: Person): Promise<void> {
  const { client, challenges } = person;
  const { chainName } = networkOf(person.stack);
  const login = await loginOf(person);
  for (;;) {
    const challenge = await persist(person, "challenge", () => client.requestChallenge({ login, chainName }));
    challenges.push(challenge);
    try {
      const { account } = await persist(person, "sign-in", () => client.respondChallenge(challenge));
      person.accountId = account.id;
      return;
    } catch (error) {
      if (!refusedWith(error, "UnknownChallenge")) throw error;
    }
  }
}

/** Waits until the account has its addresses. */
export async function deployed(person: Person): Promise<void> {
  const end = performance.now() + RETRY_TIMEOUT_MS;
  for (;;) {
    const account = await persist(person, "me", () => person.client.me());
    if (person.accountId !== "") expect(account.id).toBe(person.accountId);
    if (account.addresses.length === 2) {
      person.address = flowAddressOf(account);
      return;
    }
    if (performance.now() > end) throw new Error("the account has no addresses");
    await sleep(AGAIN_MS);
  }
}

/** Waits until the person has both addresses, one device and one key. */
export async function untilComplete(person: Person): Promise<void> {
  const { client } = person;
  await deployed(person);
  expect(await persist(person, "devices", () => client.devices())).toHaveLength(1);
  expect(await persist(person, "keys", () => client.keys())).toHaveLength(1);
}

/** Signs a new person up and waits until everything about the account is there. */
export async function completePerson(
  stack: Stack,
  firstGateway = 0,
  options: Parameters<typeof signUp>[1] = {},
): Promise<Person> {
  const person = createPerson(stack, firstGateway);
  await signUp(person, options);
  await untilComplete(person);
  return person;
}

const NOTHING = "transaction { prepare(account: &Account) {} }";

/** Sends a transaction that the server co-signs and the paymaster pays; returns its id. */
export async function transact(person: Person, cadence = NOTHING): Promise<string> {
  const { client, address, stack } = person;
  const network = networkOf(stack);
  // A submitted transaction without an answer is not sent again: the next one has a new sequence number.
  const send = () => sendTransaction(client, { network, cadence, ...(address !== "" && { address }) });
  return (await persist(person, "transaction", send)).id;
}

/** Signs out; accepts that the session is over already. */
export async function signOut(person: Person): Promise<void> {
  try {
    await persist(person, "sign-out", () => person.client.signOut());
  } catch (error) {
    if (!refusedWith(error, "SessionEnded")) throw error;
  }
}

/** Runs all of a person's operations once. `onRefresh` receives the pair of tokens from the refresh. */
export async function journey(person: Person, onRefresh?: (credentials: Credentials) => void): Promise<void> {
  await signUp(person);
  await deployed(person);
  await signIn(person);
  const credentials = await persist(person, "refresh", () => person.client.refresh());
  onRefresh?.(credentials);
  await transact(person);
  await persist(person, "keys", () => person.client.keys());
  await signOut(person);
}
