import type { ProblemError } from "@countersign/client";
import { generateDeviceKey } from "@countersign/client/node";
import { createAccessApi, type KeyChange } from "@countersign/flow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { query, readEvents } from "./books.ts";
import { expectComplete, faultPointsOf, isSettlement } from "./fault-points.ts";
import { type FaultStack, startFaultStack } from "./fault-stack.ts";
import { quiet } from "./invariants.ts";
import { signedKeyChange } from "./key-change.ts";
import { completePerson, type Person, persist } from "./person.ts";

let stack: FaultStack;
beforeAll(async () => {
  // No account is too young for a time lock, and time locks are short.
  const settings = { SIGNER_TIME_LOCK_YOUNG_ACCOUNT_SECONDS: "0", SIGNER_TIME_LOCK_RECOVERY_KEY_SECONDS: "4" };
  stack = await startFaultStack(settings);
}, 180_000);
afterAll(() => stack?.stop(), 60_000);

/** A person who requests a recovery key. */
interface Requester {
  person: Person;
  change: KeyChange;
  /** The distinct times at which the answers said that the signature is available. */
  availableTimes: Set<string>;
}

async function newRequester(): Promise<Requester> {
  const person = await completePerson(stack.stack);
  const access = createAccessApi({ baseUrl: stack.stack.chains[0]!.accessNode });
  const { publicKey: serverKey } = await access.accountKey(person.address, 0);
  const { publicKey, algorithm } = generateDeviceKey();
  return {
    person,
    change: { template: "add-recovery-key", serverKey, newKey: { publicKey, algorithm } },
    availableTimes: new Set(),
  };
}

/** Requests the signatures; returns whether they were made or a time lock has started. */
async function ask({ person, change, availableTimes }: Requester): Promise<"signed" | "waits"> {
  try {
    await persist(person, "ask", () => signedKeyChange(stack.stack, person.client, change, 0n));
    return "signed";
  } catch (error) {
    const { error: code, availableAt } = error as ProblemError;
    if (code !== "TimeLockRequired") throw error;
    availableTimes.add(String(availableAt));
    return "waits";
  }
}

const signedInTheEnd = (requester: Requester) =>
  expect.poll(() => ask(requester), { timeout: 20_000, interval: 300 }).toBe("signed");

const locksOf = ({ person: { accountId } }: Requester) =>
  query<{ available_at: Date }>(
    stack.stack,
    "signer",
    `SELECT available_at FROM time_lock WHERE account_id = '${accountId}'`,
  );

/** Expects one time lock with one event and one end, and that the signer remembers the recovery key. */
async function expectOneTimeLock(requester: Requester): Promise<void> {
  const { accountId } = requester.person;
  const locks = await locksOf(requester);
  expect(locks).toHaveLength(1);
  expect([...requester.availableTimes]).toEqual([locks[0]!.available_at.toISOString()]);
  const keys = await query<{ public_key: string }>(
    stack.stack,
    "signer",
    `SELECT public_key FROM recovery_key WHERE account_id = '${accountId}'`,
  );
  expect(keys).toEqual([{ public_key: (requester.change as { newKey: { publicKey: string } }).newKey.publicKey }]);
  const started = async () =>
    (await readEvents(stack.stack)).filter(({ event }) => event.accountId === accountId && event.timeLockStarted)
      .length;
  await expect.poll(started, { timeout: 20_000 }).toBe(1);
}

/** Points that only a repeated request reaches. The first one was made before, so all locks end together. */
const AFTER_THE_DELAY = new Set(
  ["recovery key remembered", "signature made", "audit committed"].map((at) => `signer/${at}`),
);

describe("a time lock starts, and the signer is killed", () => {
  const points = faultPointsOf("timeLock");
  /** One for each test, created beforehand: sign-ups at the same time share creations. */
  let everybody: Requester[];
  beforeAll(async () => {
    everybody = await Promise.all(Array.from({ length: 1 + points.length }, newRequester));
    const waitAlready = everybody.slice(1).filter((_, i) => AFTER_THE_DELAY.has(points[i]!));
    expect(await Promise.all(waitAlready.map(ask))).toEqual(waitAlready.map(() => "waits"));
    await quiet(stack.stack);
  }, 180_000);

  it("without a kill every fault point is passed, so that the list is complete", async () => {
    const requester = everybody.shift()!;
    const reached = new Set<string>();
    stack.controller.judge = ({ point }) => void (isSettlement(point) || reached.add(point));
    expect(await ask(requester)).toBe("waits");
    await signedInTheEnd(requester);
    await expectComplete("timeLock", reached);
    stack.controller.judge = undefined;
    await expectOneTimeLock(requester);
  });

  it.each(points)("at %s: asked again there is one time lock, with the same end", async (point) => {
    const requester = everybody.shift()!;
    const standing = Promise.withResolvers<string>();
    stack.controller.judge = (reached) => {
      if (reached.point !== point) return;
      const found = ["signer", "signer-2"].find((name) => stack.stack.processes[name]?.pid === reached.pid);
      if (found === undefined) return;
      standing.resolve(found);
      return new Promise<void>(() => undefined);
    };
    const asked = ask(requester).then(() => signedInTheEnd(requester));
    const victim = await standing.promise;
    stack.controller.judge = undefined;
    if (point === "signer/delay before commit") expect(await locksOf(requester)).toEqual([]);
    if (point === "signer/delay started") expect(await locksOf(requester)).toHaveLength(1);
    await stack.bounce(victim);
    await asked;
    await stack.allUp();
    await expectOneTimeLock(requester);
  });
});
