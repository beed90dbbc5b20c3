import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chainReader } from "./chain-reader.ts";
import { type EnrollmentWay, expectComplete, faultPointsOf, isSettlement } from "./fault-points.ts";
import { type FaultStack, type Program, programs, startFaultStack } from "./fault-stack.ts";
import { broken, quiet } from "./invariants.ts";
import { type Cell, createKillScheduler } from "./kill-scheduler.ts";
import { createNewDevice, enroll, type NewDevice } from "./new-device.ts";
import { createPerson, type Person, recordLine, signUp, untilComplete } from "./person.ts";
import { seededRandom } from "./seed.ts";

/** The most persons at the same time beyond the cells that are left. */
const MORE_THAN_CELLS = 8;
/**
 * Persons at the beginning. Each flow that ends well within QUICK_MS lets one more come, and each other one
 * sends one away: on a slow machine eighteen phones that repeat their requests would keep all from an answer.
 */
const FIRST_CROWD = 6;
const SMALLEST_CROWD = 3;
const QUICK_MS = 20_000;
/** For a slow machine: each killed process takes long to start again there. */
const LIMIT_MS = 600_000;

/** Changes on chain and time locks have tests of their own: chain-keys.test.ts, time-locks.test.ts. */
type WithKills = EnrollmentWay | "signUp";

interface Part {
  name: string;
  /** The most persons at the same time; fewer when only a few cells are left. */
  crowd: number;
  /** The flows of this part; each person runs one of them. */
  ways: readonly WithKills[];
  /** Programs that have something to publish then. */
  publishers: readonly Program[];
}

/** In this order: persons who have signed up enroll new phones. */
const parts: readonly Part[] = [
  { name: "sign-up", crowd: 18, ways: ["signUp"], publishers: ["auth", "account", "device", "key", "signer"] },
  {
    name: "enrollment",
    crowd: 18,
    ways: ["enrollmentBySignature", "enrollmentByTransaction"],
    publishers: ["auth", "account", "device", "key"],
  },
];
const ways = parts.flatMap((part) => part.ways);

const random = seededRandom("kill matrix");
/**
 * Returns the programs to kill at a point: its own, and at half of the points one other; with FAULT_ALL every
 * program at every point.
 */
const victimsAt = (point: string): readonly Program[] => {
  if (process.env.FAULT_ALL) return programs;
  const others = programs.filter((program) => !point.startsWith(`${program}/`));
  const own = programs.filter((program) => !others.includes(program));
  // Of the outbox's points every program is another one.
  return own.length === 0 || random.below(2) === 0 ? [...own, random.pick(others)] : own;
};
/** FAULT_ONLY=account/ tries only the points that begin so. */
const only = process.env.FAULT_ONLY ?? "";
const cellsOf = ({ ways }: Part): Cell[] =>
  [...new Set(ways.flatMap(faultPointsOf))]
    .filter((point) => point.startsWith(only))
    .flatMap((point) => victimsAt(point).map((victim) => ({ point, victim })));

let stack: FaultStack;
let chain: ReturnType<typeof chainReader>;
let startHeight: bigint;
const persons: Person[] = [];
const newDevices: NewDevice[] = [];
/** The persons whose sign-up or enrollment is running. */
const underWay = new Set<Person>();
/** The persons who have signed up and enroll no device at the moment. */
const hosts: Person[] = [];
const problems: string[] = [];
/** Violated invariants after a part; each line begins with an e-mail address. */
const wrong = new Set<string>();

async function signUpAndSettle(): Promise<boolean> {
  const person = createPerson(stack.stack, persons.length);
  persons.push(person);
  return goWay(person, async () => {
    await signUp(person, { idempotent: random.next() < 0.5 });
    await untilComplete(person);
    hosts.push(person);
  });
}

async function enrollOne(way: EnrollmentWay): Promise<boolean> {
  // When only a part of the matrix runs, there may be no host yet.
  while (hosts.length === 0) await signUpAndSettle();
  const host = hosts.shift()!;
  const newDevice = createNewDevice(host, way, newDevices.length);
  newDevices.push(newDevice);
  return goWay(newDevice, async () => {
    await enroll(newDevice);
    hosts.push(host);
  });
}

/** Returns whether all went well; else it is one of the problems. */
async function goWay(person: Person, go: () => Promise<void>): Promise<boolean> {
  underWay.add(person);
  try {
    await go();
    return true;
  } catch (error) {
    problems.push(`${person.email}: ${(error as Error).message}\n    ${person.story.join("\n    ")}`);
    return false;
  } finally {
    underWay.delete(person);
  }
}

const goOnce = (way: WithKills): Promise<boolean> => (way === "signUp" ? signUpAndSettle() : enrollOne(way));

beforeAll(async () => {
  stack = await startFaultStack();
  chain = chainReader(stack.stack.chains[0]!.accessNode);
  startHeight = await chain.height();
}, 180_000);

afterAll(async () => {
  if (problems.length > 0) console.log(`logs: ${stack.keepLogs()}`);
  await stack?.stop();
}, 60_000);

it.each(ways)(
  "without faults, %s passes every fault point, so that the matrix is complete",
  async (way) => {
    const reached = new Set<string>();
    stack.controller.judge = ({ point }) => void (isSettlement(point) || reached.add(point));
    await goOnce(way);
    expect(problems).toEqual([]);
    await quiet(stack.stack);
    await expectComplete(way, reached);
    stack.controller.judge = undefined;
  },
  120_000,
);

describe.each(parts)("$name, with a process killed at each fault point", (part) => {
  const cells = cellsOf(part);

  beforeAll(async () => {
    const started = performance.now();
    const before = { persons: persons.length, newDevices: newDevices.length };
    const log = (line: string) => {
      for (const person of underWay) recordLine(person, `-- ${line}`);
    };
    const emails = () => [...underWay].map(({ email }) => email);
    const killScheduler = createKillScheduler(stack, cells, part.publishers, random, log, emails);
    stack.controller.judge = killScheduler.judge;
    let crowd = FIRST_CROWD;
    const one = async (number: number) => {
      while (killScheduler.open() > 0 && performance.now() - started < LIMIT_MS) {
        if (number >= Math.min(crowd, MORE_THAN_CELLS + killScheduler.open())) {
          await sleep(100);
          continue;
        }
        const begun = performance.now();
        const quick = (await goOnce(random.pick(part.ways))) && performance.now() - begun < QUICK_MS;
        crowd = quick ? Math.min(crowd + 1, part.crowd) : Math.max(crowd - 1, SMALLEST_CROWD);
      }
    };
    await Promise.all(Array.from({ length: part.crowd }, (_, number) => one(number)));
    await killScheduler.stop();
    stack.controller.judge = undefined;
    await stack.allUp();
    await quiet(stack.stack).catch((error: Error) => problems.push(error.message));
    for (const line of await broken(stack.stack, chain, startHeight, persons, newDevices)) wrong.add(line);
    const seconds = ((performance.now() - started) / 1000).toFixed(0);
    const people = persons.length - before.persons + newDevices.length - before.newDevices;
    const had = cells.filter((cell) => cell.killed).length;
    console.log(
      `kill matrix, ${part.name}: ${had} of ${cells.length} cells in ${killScheduler.kills()} kills, ${people} phones, ${seconds} s`,
    );
  }, LIMIT_MS + 180_000);

  // Several persons are under way at each kill, and one of them may meet several: a problem is shown by each
  // of its cells.
  it.each(cells)("at $point, $victim is killed, and nothing is wrong with anybody who was under way", (cell) => {
    expect(cell.killed).toBeDefined();
    const found = [...problems, ...wrong].filter((line) => cell.during?.some((email) => line.startsWith(email)));
    expect(found, found[0]).toEqual([]);
  });
});

it("everybody has one account, each person one key, one device and one chain of events, and every signature its record", async () => {
  problems.push(...stack.died().map((name) => `${name} died by itself`));
  problems.push(...(await broken(stack.stack, chain, startHeight, persons, newDevices)));
  expect(problems, problems[0]).toEqual([]);
}, 60_000);
