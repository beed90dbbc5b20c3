import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type ServiceName, services } from "@countersign/build/paths.ts";
import { revokeDevice } from "@countersign/client";
import { seededRandom } from "@countersign/local-stack/testing/seeded-random.ts";
import { networkOf } from "@countersign/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createNewDevice, enroll } from "./new-device.ts";
import {
  deployed,
  failures,
  journey,
  loginOf,
  newPerson,
  type Person,
  signIn,
  signOut,
  signUp,
  transact,
} from "./person.ts";
import { askDatabaseOf } from "./proxy/ask-database-of.ts";
import { messageHash, signedMessages, unevenEvents, withoutRecord } from "./proxy/evidence.ts";
import { complaintsAbout } from "./proxy/exactly-once.ts";
import { createLedger, type Ledger } from "./proxy/ledger.ts";
import { type ProxiedStack, startProxiedStack } from "./proxy/proxied-stack.ts";
import { untilNone } from "./proxy/until.ts";

const SEED = Number(process.env.FAULT_SEED ?? randomInt(2 ** 31));
const CREATION = "signer.v1.Creation/SignCreation";
const DEPLOY = "account.v1.Accounts/DeployAccount";
/** A call in the middle of a sign-up at which each service is at work: service, caller, callee, RPC. */
const MIDDLE = [
  ["auth", "auth", "account", DEPLOY],
  ["account", "auth", "account", DEPLOY],
  ["key", "auth", "key", "key.v1.Keys/RegisterKey"],
  ["device", "auth", "device", "device.v1.Devices/RegisterDevice"],
  ["signer", "account", "signer", CREATION],
] as const;
/** How long the answer to a sign-up may wait for the chain, with what comes before and after. */
const SIGN_UP_MS = 23_000;

let proxied: ProxiedStack;
let ledger: Ledger;
let before: bigint;
/** Messages (hex) that somebody holds a signature of. */
const held: string[] = [];

beforeAll(async () => {
  console.log(`FAULT_SEED=${SEED}`);
  proxied = await startProxiedStack("slow-parts", SEED);
  ledger = createLedger(proxied.stack.chains[0]!.accessNode);
  before = await ledger.height();
});
beforeEach(() => expect(proxied.died()).toEqual([]));
afterAll(() => proxied?.stop());

const createPerson = (): Promise<Person> => newPerson(proxied.stack);

/** In the end everything about these people is there once. */
async function exactlyOnce(...people: Person[]): Promise<void> {
  for (const person of people) {
    await untilNone(`${person.tag}\n${person.story.join("\n")}`, () => complaintsAbout(proxied, ledger, person));
  }
}

/** Suspends a process for `ms`, as a stalled machine would; `work` begins meanwhile. */
async function frozen<T>(name: string, ms: number, work: () => Promise<T>): Promise<T> {
  const { pid } = proxied.stack.processes[name]!;
  process.kill(pid, "SIGSTOP");
  const running = work();
  running.catch(() => undefined);
  try {
    await sleep(ms);
  } finally {
    process.kill(pid, "SIGCONT");
  }
  return running;
}

/** Signs up, in and out: the flows that need no event. */
async function comeAndGo(person: Person): Promise<void> {
  await signUp(person);
  await deployed(person);
  await signIn(person);
  await signOut(person);
}

describe("NATS", () => {
  /** Checks that everything works at once while NATS is away; `back` resolves when its time is over. */
  async function worksWithout(person: Person, back: Promise<void>): Promise<void> {
    const over = back.then(() => "NATS is back");
    expect(await Promise.race([comeAndGo(person).then(() => "done"), over])).toBe("done");
    expect(failures(person)).toEqual([]);
    await over;
  }

  it("stands still for 5 s: nobody waits for it, and each event arrives once", async () => {
    const person = await createPerson();
    const back = frozen("nats", 5_000, async () => undefined);
    await worksWithout(person, back);
    await exactlyOnce(person);
  });

  it("is out of reach for 5 s: nobody waits for it, and each event arrives once", async () => {
    const person = await createPerson();
    const hops = proxied.network.tcpsTo("nats");
    for (const hop of hops) hop.drop();
    const back = sleep(5_000).then(() => {
      for (const hop of hops) hop.pass();
    });
    await worksWithout(person, back);
    await exactlyOnce(person);
  });
});

describe("Postgres", () => {
  it.each(MIDDLE)("is lost to %s for a second (%s→%s, %s): 503, and nothing half-done", async (...middle) => {
    const [service, ...call] = middle;
    const person = await createPerson();
    const hop = proxied.network.tcp(service, "postgres");
    let lost = false;
    proxied.network.when(...call, () => {
      lost = true;
      hop.drop();
      setTimeout(hop.pass, 1_000);
    });
    await journey(person);
    expect(lost).toBe(true);
    await exactlyOnce(person);
    for (const failure of failures(person)) expect(failure).toMatch(/ 50[34]$/);
  });

  it("cuts every service's connections at once, in the middle of things", async () => {
    const people = await Promise.all(Array.from({ length: 4 }, createPerson));
    proxied.network.when("auth", "key", "key.v1.Keys/RegisterKey", () => {
      for (const hop of proxied.network.tcpsTo("postgres")) {
        hop.drop();
        hop.pass();
      }
    });
    await Promise.all(people.map((person) => journey(person)));
    await exactlyOnce(...people);
    for (const failure of people.flatMap(failures)) expect(failure).toMatch(/ 50[34]$/);
  });

  it("is gone without a word, for all services at once: each answers 503 in time, and goes on over new connections", async () => {
    const person = await createPerson();
    await signUp(person);
    await deployed(person);
    await transact(person);
    const [message] = person.signed as [string];
    for (const service of services)
      expect((await askDatabaseOf(service, person, message)).status, service).toBeLessThan(500);
    const hops = services.map((service) => proxied.network.tcp(service, "postgres"));
    for (const hop of hops) hop.mute();
    // So many that no pool has a free connection, and so long that every connection is found to be dead.
    const looked = sleep(12_000);
    const asked = services.flatMap((service) =>
      Array.from({ length: 8 }, () => askDatabaseOf(service, person, message)),
    );
    for (const { service, status, ms } of await Promise.all(asked)) {
      expect([503, 504], service).toContain(status);
      // The gateway waits for account for 8 s, and the client asks twice.
      expect(ms, service).toBeLessThan(18_000);
    }
    await looked;
    for (const hop of hops) hop.pass();
    // Without an end to each wait of ours it would be TCP's: a quarter of an hour.
    const again = async (service: ServiceName) => (await askDatabaseOf(service, person, message)).status;
    await Promise.all(
      services.map((service) =>
        expect.poll(() => again(service), { timeout: 60_000, message: service }).toBeLessThan(500),
      ),
    );
    for (const failure of failures(person)) expect(failure).toMatch(/ 50[34]$|^\/account\/v1\/parent 409$/);
    const other = await createPerson();
    await journey(other);
    await exactlyOnce(person, other);
  });

  it("stalls for 4 s, for all services at once", async () => {
    const people = await Promise.all(Array.from({ length: 3 }, createPerson));
    const hops = proxied.network.tcpsTo("postgres");
    proxied.network.when("account", "signer", CREATION, () => {
      for (const hop of hops) hop.stall();
      setTimeout(() => {
        for (const hop of hops) hop.pass();
      }, 4_000);
    });
    await Promise.all(people.map((person) => journey(person)));
    await exactlyOnce(...people);
    for (const failure of people.flatMap(failures)) expect(failure).toMatch(/ 50[34]$/);
  });
});

describe("the chain node", () => {
  const node = () => proxied.network.tcp("account", "flow-emulator");
  /** As the client's method, without repeating. */
  const signUpOnce = async (person: Person) =>
    person.client.signUp({ login: await loginOf(person), chainName: proxied.stack.chains[0]!.chainName });

  /** Signed up while the node was silent. */
  let early: Person;

  it("answers nothing: the sign-up is answered in time, without addresses", async () => {
    const person = await createPerson();
    early = person;
    node().stall();
    const started = performance.now();
    try {
      const { account } = await signUpOnce(person);
      expect(performance.now() - started).toBeLessThan(SIGN_UP_MS);
      expect(account.addresses).toEqual([]);
      expect((await person.client.me()).id).toBe(account.id);
    } finally {
      node().pass();
    }
    expect(failures(person)).toEqual([]);
  });

  it("takes 2 s for each answer: the sign-up waits, and deploys once", async () => {
    const people = await Promise.all([createPerson(), createPerson()]);
    node().delay(900, 200);
    const started = performance.now();
    try {
      await Promise.all(people.map(signUpOnce));
      expect(performance.now() - started).toBeLessThan(SIGN_UP_MS);
    } finally {
      node().pass();
    }
    await Promise.all(people.map(deployed));
    await exactlyOnce(...people);
    expect(people.flatMap(failures)).toEqual([]);
  });

  it("takes longer for an attempt's outcome than a phone's call waits: the new phone is enrolled", async () => {
    const person = await createPerson();
    await signUp(person);
    await deployed(person);
    proxied.network.when("device", "account", "account.v1.KeyAdditions/SubmitKeyAddition", () =>
      node().delay(700, 100),
    );
    try {
      await enroll(createNewDevice(person, "enrollmentBySignature", 0));
    } finally {
      node().pass();
    }
  });

  it("takes 0.8 s for each answer: what a device's own transactions did is verified, addition and revocation", async () => {
    const host = await createPerson();
    await signUp(host);
    await deployed(host);
    const newDevice = createNewDevice(host, "enrollmentByTransaction", 0);
    let slowed = 0;
    const slow = () => {
      slowed += 1;
      node().delay(350, 50);
    };
    const eventsOfKey = proxied.network.tcp("key", "nats");
    proxied.network.when("device", "account", "account.v1.KeyAdditions/VerifyKeyAddition", slow);
    try {
      await enroll(newDevice);
      node().pass();
      proxied.network.when("key", "account", "account.v1.AccountKeys/VerifyKeyRevocation", slow);
      // The key service must learn of the revocation by the report.
      eventsOfKey.drop();
      const networks = [networkOf(proxied.stack)];
      expect(await revokeDevice(host.client, newDevice.deviceKey, { networks })).toMatchObject({ done: true });
    } finally {
      eventsOfKey.pass();
      node().pass();
    }
    expect(slowed).toBe(2);
    expect([host, newDevice].flatMap(failures).filter((line) => / 50[34]$/.test(line))).toEqual([]);
  });

  it("breaks its answers off for 2 s, also the one to the submission", async () => {
    const people = await Promise.all([createPerson(), createPerson()]);
    proxied.network.when("account", "signer", CREATION, () => {
      node().cutAfter(20);
      setTimeout(node().pass, 2_000);
    });
    await Promise.all(people.map((person) => journey(person)));
    await exactlyOnce(...people);
  });

  it("is out of reach for 3 s", async () => {
    const person = await createPerson();
    node().drop();
    setTimeout(node().pass, 3_000);
    await journey(person);
    await exactlyOnce(person);
    expect(failures(person)).toEqual([]);
  });

  it("was silent once: the sign-up of then is completed, as soon as its lease has lapsed", async () => {
    await deployed(early);
    await exactlyOnce(early);
    expect(failures(early)).toEqual([]);
  });
});

describe("the services", () => {
  it.each(["signer", "account", "key", "device", "auth"])("%s stands still for 3.5 s", async (name) => {
    const person = await createPerson();
    await frozen(name, 3_500, () => journey(person));
    await exactlyOnce(person);
  });

  it("lose their connections to each other again and again, with all that is on its way", async () => {
    const people = await Promise.all(Array.from({ length: 12 }, createPerson));
    const random = seededRandom(SEED);
    const walking = Promise.all(people.map((person) => journey(person)));
    for (let i = 0; i < 12; i++) {
      await sleep(50 + random() * 250);
      const proxies = proxied.network.rpcs();
      for (const proxy of proxies) if (random() < 0.5) proxy.sever();
    }
    await walking;
    await exactlyOnce(...people);
    for (const { challenges, client } of people) {
      for (const challenge of challenges) {
        await expect(client.respondChallenge(challenge)).rejects.toMatchObject({ error: "UnknownChallenge" });
      }
    }
    held.push(...people.flatMap(({ signed }) => signed));
  });

  it("lose all their connections to each other in the middle of sign-ups; ended sessions are received afterwards", async () => {
    const people = await Promise.all(Array.from({ length: 4 }, createPerson));
    proxied.network.when("account", "signer", CREATION, () => {
      for (const proxy of proxied.network.rpcs()) proxy.sever();
    });
    await Promise.all(people.map((person) => signUp(person)));
    await Promise.all(people.map(deployed));
    const [person] = people as [Person, ...Person[]];
    const { accessToken } = person.client.credentials!;
    await signOut(person);
    const me = () =>
      fetch(`${proxied.stack.gateway}/account/v1/me`, { headers: { authorization: `Bearer ${accessToken}` } });
    await expect.poll(async () => (await me()).status).toBe(401);
    await exactlyOnce(...people);
  });
});

describe("afterwards", () => {
  it("the stack is whole", async () => {
    const person = await createPerson();
    await journey(person);
    await exactlyOnce(person);
    expect(failures(person)).toEqual([]);
  });

  it("each event is in the stream once, and every signature on the chain is in the signer's records", async () => {
    await untilNone("events", () => unevenEvents(proxied));
    const onChain = (await ledger.transactionsAfter(before)).flatMap(signedMessages);
    expect(await withoutRecord(proxied, [...onChain, ...held.map(messageHash)])).toEqual([]);
  });
});
