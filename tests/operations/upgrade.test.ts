import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "@countersign/build/paths.ts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { chainReader } from "../faults/chain-reader.ts";
import { type FaultStack, type Program, programs, replicasOf, startFaultStack } from "../faults/fault-stack.ts";
import { broken, quiet } from "../faults/invariants.ts";
import { createPerson, type Person, signIn, signUp, transact, untilComplete } from "../faults/person.ts";

/** How long all processes of a version serve before the next roll-out begins, in milliseconds. */
const SERVE_MS = 5_000;
const RESIDENTS = 3;

const previous = process.env.CS_TEST_PREVIOUS ?? "";
/** The version that each process runs from its next start on. */
const versions = new Map<string, string>();
let stack: FaultStack;
let chain: ReturnType<typeof chainReader>;
let startHeight: bigint;

beforeAll(async () => {
  expect(previous, "run by `npm run test:operations`, which prepares the version before").not.toBe("");
  // The schema is that of this version already: migrations are the first step of a roll-out.
  stack = await startFaultStack({}, 2, (process) => versions.get(process) ?? previous);
  chain = chainReader(stack.stack.chains[0]!.accessNode);
  startHeight = await chain.height();
}, 180_000);

afterAll(() => stack?.stop(), 60_000);

/** Returns the order in which docs/upgrades.md rolls the programs out. */
function documentedOrder(): Program[] {
  const page = readFileSync(join(root, "docs/upgrades.md"), "utf8");
  const steps = [...page.matchAll(/^\d+\. `(\w+)`/gm)].map(([, program]) => program as Program);
  expect([...steps].sort()).toEqual([...programs].sort());
  return steps;
}

async function rollOut(order: readonly Program[], checkout: string): Promise<void> {
  for (const name of order.flatMap(replicasOf)) {
    versions.set(name, checkout);
    await stack.roll(name);
  }
}

/** Returns the failed requests; a load balancer sends none to a gateway that has stopped. */
const failedRequests = (persons: readonly Person[]) =>
  persons
    .flatMap(({ answers }) => answers.filter((answer) => / 5\d\d/.test(answer) || /error/i.test(answer)))
    .filter((answer) => !answer.includes("ECONNREFUSED"));

it("rolls out in the documented order and back, under load: no request fails, nothing is lost", async () => {
  const order = documentedOrder();
  const persons: Person[] = [];
  let stopped = false;
  let transactions = 0;
  const join = async (): Promise<Person> => {
    const person = createPerson(stack.stack, persons.length);
    persons.push(person);
    await signUp(person);
    await untilComplete(person);
    return person;
  };
  const live = async () => {
    const person = await join();
    while (!stopped) {
      await signIn(person);
      await transact(person);
      transactions += 1;
    }
  };
  const arrive = async () => {
    while (!stopped) await transact(await join());
  };
  const load = Promise.all([...Array.from({ length: RESIDENTS }, live), arrive()]);
  load.catch(() => undefined);

  await sleep(SERVE_MS);
  await rollOut(order, root);
  await sleep(SERVE_MS);
  await rollOut(order.toReversed(), previous);
  await sleep(SERVE_MS);
  stopped = true;
  await load;

  const requests = persons.reduce((sum, { answers }) => sum + answers.length, 0);
  const failed = failedRequests(persons);
  console.log(
    `roll-out and back: ${requests} requests, ${failed.length} failed, ${persons.length} sign-ups, ` +
      `${transactions} transactions of residents`,
  );
  expect(failed).toEqual([]);
  expect(stack.died()).toEqual([]);
  await quiet(stack.stack);
  expect(await broken(stack.stack, chain, startHeight, persons)).toEqual([]);
}, 600_000);
