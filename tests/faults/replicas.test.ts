import { setTimeout as sleep } from "node:timers/promises";
import { CountersignClient, recoverDevice, sendKeyChange } from "@countersign/client";
import { payloadMessage } from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { createPhone, networkOf } from "@countersign/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { chainReader } from "./chain-reader.ts";
import { type FaultStack, startFaultStack } from "./fault-stack.ts";
import { broken, quiet } from "./invariants.ts";
import { createPerson, loginOf, type Person, signUp, untilComplete } from "./person.ts";

/** Two healthy replicas of every program: limits, grants and ends of one must hold at the other. */
const CHALLENGES_PER_MINUTE = 40;
const SIGNATURES_PER_MINUTE = 20;
const MINUTE_MS = 60_000;

let stack: FaultStack;
let chain: ReturnType<typeof chainReader>;
let startHeight: bigint;
const persons: Person[] = [];

beforeAll(async () => {
  stack = await startFaultStack({
    AUTH_LIMIT_CHALLENGE_PER_MINUTE: String(CHALLENGES_PER_MINUTE),
    AUTH_LIMIT_SIGN_UP_PER_MINUTE: "1000",
    AUTH_LIMIT_SCALE: "1",
    DEVICE_LIMIT_SCALE: "1",
    SIGNER_LIMIT_SIGNATURES_PER_MINUTE: String(SIGNATURES_PER_MINUTE),
    SIGNER_LIMIT_SCALE: "1",
  });
  chain = chainReader(stack.stack.chains[0]!.accessNode);
  startHeight = await chain.height();
}, 180_000);

afterAll(() => stack?.stop(), 60_000);

const chainName = () => stack.stack.chains[0]!.chainName;

/** Returns the same person at each gateway. */
function atBoth(person: Person): [CountersignClient, CountersignClient] {
  const { deviceKey } = person;
  const { credentials } = person.client;
  const at = (baseUrl: string) =>
    new CountersignClient({ baseUrl, deviceKey, ...(credentials === undefined ? {} : { credentials }) });
  const [first, second] = stack.stack.gateways as [string, string];
  return [at(first), at(second)];
}

async function newPerson() {
  const person = createPerson(stack.stack, persons.length);
  persons.push(person);
  await signUp(person);
  await untilComplete(person);
  return { person, login: await loginOf(person) };
}

const outcomes = async (work: readonly Promise<unknown>[]) => {
  const settled = await Promise.allSettled(work);
  return settled.map((each) => (each.status === "fulfilled" ? "granted" : (each.reason as { error?: string }).error));
};
const counts = (list: readonly unknown[]) =>
  Object.fromEntries([...new Set(list)].map((each) => [String(each), countOf(list, each)]));
const countOf = (list: readonly unknown[], wanted: unknown) => list.filter((each) => each === wanted).length;

it("the same sign-up at both gateways at once is one account", async () => {
  const person = createPerson(stack.stack);
  persons.push(person);
  const login = await loginOf(person);
  const clients = Array.from({ length: 3 }, () => atBoth(person)).flat();
  const answers = await Promise.allSettled(clients.map((client) => client.signUp({ login, chainName: chainName() })));
  const accounts = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value.account.id] : []));
  expect(new Set(accounts).size).toBe(1);
  person.accountId = accounts[0]!;
  await person.client.signIn({ login, chainName: chainName() });
  await untilComplete(person);
});

it("people who come at once to both gateways share creations, and each gets one account", async () => {
  await Promise.all(Array.from({ length: 12 }, newPerson));
}, 60_000);

it("a challenge from one process is answered once, at any", async () => {
  const { person, login } = await newPerson();
  const [one, other] = atBoth(person);
  const challenge = await one.requestChallenge({ login, chainName: chainName() });
  const answered = await outcomes(
    [one, other, one, other].map(async (client) => void (await client.respondChallenge(challenge))),
  );
  expect(countOf(answered, "granted")).toBe(1);
});

it("five wrong answers end a challenge, wherever they are given", async () => {
  const { person, login } = await newPerson();
  const clients = atBoth(person);
  const challenge = await clients[0].requestChallenge({ login, chainName: chainName() });
  const otherPhones = clients.flatMap(() => atBoth(createPerson(stack.stack)));
  const wrong = await outcomes(
    [...otherPhones, ...otherPhones].map(async (client) => void (await client.respondChallenge(challenge))),
  );
  expect(countOf(wrong, "InvalidSignature")).toBe(5);
  expect(await outcomes([clients[1].respondChallenge(challenge)])).toEqual(["UnknownChallenge"]);
});

it("a session that ends at one gateway is over at the other within two seconds", async () => {
  const { person } = await newPerson();
  const [one, other] = atBoth(person);
  await other.me();
  await one.signOut();
  await expect.poll(() => outcomes([other.me()]), { timeout: 2_000, interval: 50 }).not.toEqual(["granted"]);
});

it("a refresh token that both gateways are given at once goes on as one session", async () => {
  const { person } = await newPerson();
  const [one, other] = atBoth(person);
  const [first, second] = await Promise.all([one.refresh(), other.refresh()]);
  await Promise.all([one.me(), other.me()]);
  // Either of the pair is the same successor: using one ends the other's retry, not the session.
  expect(await one.sessions()).toHaveLength(1);
  expect([typeof first.refreshToken, typeof second.refreshToken]).toEqual(["string", "string"]);
});

it("a device's signatures of a minute are counted over both signers", async () => {
  const { person } = await newPerson();
  const { address } = person;
  const [block, key] = await Promise.all([chain.access.latestSealedBlock(), chain.access.accountKey(address, 1)]);
  const message = bytesToHex(
    payloadMessage({
      script: "transaction { prepare(account: &Account) {} }",
      arguments: [],
      referenceBlockId: block.id,
      gasLimit: 100n,
      proposalKey: { address, keyId: 1, sequenceNumber: key.sequenceNumber },
      payer: stack.stack.chains[0]!.paymaster.slice(2),
      authorizers: [address],
    }),
  );
  const left = MINUTE_MS - (Date.now() % MINUTE_MS);
  if (left < 15_000) await sleep(left + 100);
  const clients = atBoth(person);
  const asked = Array.from({ length: 3 * SIGNATURES_PER_MINUTE }, async (_, index) =>
    clients[index % 2]!.signTransaction(message, chainName()),
  );
  const signed = await outcomes(asked);
  expect(counts(signed)).toEqual({ granted: SIGNATURES_PER_MINUTE, RateLimited: 2 * SIGNATURES_PER_MINUTE });
}, 60_000);

it("nothing is there twice", async () => {
  await quiet(stack.stack);
  expect(await broken(stack.stack, chain, startHeight, persons)).toEqual([]);
}, 120_000);

// After the test above, which expects one key of each person.
it("a stolen login fills the places of requests at both gateways, but not those of the recovery key", async () => {
  const { person, login } = await newPerson();
  const recovery = createPhone(stack.stack);
  const { publicKey, algorithm } = recovery.deviceKey;
  const change = { template: "add-recovery-key", newKey: { publicKey, algorithm } } as const;
  await sendKeyChange(person.client, { network: networkOf(stack.stack), change });
  await person.client.registerRecoveryKey({ publicKey, algorithm }, "ada@cloud.example");
  await recovery.client.signIn({ login, chainName: chainName() });
  const requests = Array.from({ length: 7 }, () => createPerson(stack.stack, persons.length)).map(({ client }) =>
    client.requestTwoFactor({ login, chainName: chainName() }).then(() => undefined),
  );
  expect(counts(await outcomes(requests))).toEqual({ granted: 5, RateLimited: 2 });
  const device = createPerson(stack.stack).client;
  const recovered = recoverDevice({ recovery: recovery.client, device, login, chainName: chainName() });
  // It was opened; an approval by the recovery key waits for its time lock.
  expect(await outcomes([recovered])).toEqual(["TimeLockRequired"]);
}, 60_000);

// Last: no challenge is issued until the minute is over.
it("challenges of a minute are counted over both gateways and both of auth", async () => {
  const { person, login } = await newPerson();
  const clients = atBoth(person);
  const burst = () =>
    outcomes(
      Array.from({ length: 2 * CHALLENGES_PER_MINUTE }, async (_, index) => {
        await clients[index % 2]!.requestChallenge({ login, chainName: chainName() });
      }),
    );
  let answers = await burst();
  // A minute began meanwhile: then the next does not.
  if (countOf(answers, "granted") > CHALLENGES_PER_MINUTE) answers = await burst();
  expect(countOf(answers, "granted")).toBeLessThanOrEqual(CHALLENGES_PER_MINUTE);
  expect(countOf(answers, "RateLimited")).toBe(answers.length - countOf(answers, "granted"));
});
