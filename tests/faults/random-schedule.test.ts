import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { chainReader } from "./chain-reader.ts";
import { type FaultStack, programs, replicasOf, startFaultStack } from "./fault-stack.ts";
import { broken, quiet } from "./invariants.ts";
import { createPerson, type Person, recordLine, signIn, signUp, transact, untilComplete } from "./person.ts";
import { seededRandom } from "./seed.ts";

const PERSONS = 20;
/** How long faults go on, in milliseconds. */
const FAULTS_MS = Number(process.env.FAULT_SECONDS ?? 40) * 1000;

const random = seededRandom("random schedule");
let stack: FaultStack;
let chain: ReturnType<typeof chainReader>;
let startHeight: bigint;
const persons: Person[] = [];
const problems: string[] = [];
const transactions: string[] = [];

beforeAll(async () => {
  stack = await startFaultStack();
  chain = chainReader(stack.stack.chains[0]!.accessNode);
  startHeight = await chain.height();
}, 180_000);

afterAll(async () => {
  if (problems.length > 0) console.log(`logs: ${stack.keepLogs()}`);
  await stack?.stop();
}, 60_000);

/** The faults of each process. The emulator may lose state when it is killed, so it is only stopped. */
const targets: { name: string; kill: boolean; stopMs: number }[] = [
  ...programs.flatMap(replicasOf).map((name) => ({ name, kill: true, stopMs: 3_000 })),
  // Longer than the lease of a creation: its owner wakes up when another has gone on with it.
  { name: "account", kill: false, stopMs: 18_000 },
  { name: "account-2", kill: false, stopMs: 18_000 },
  { name: "nats", kill: true, stopMs: 3_000 },
  { name: "postgres", kill: true, stopMs: 3_000 },
  { name: "flow-emulator", kill: false, stopMs: 3_000 },
];

/** Kills and stops processes until the time is over; then everything goes on. */
async function faults(until: number): Promise<number> {
  const running = new Set<Promise<void>>();
  const frozen = new Set<string>();
  let count = 0;
  const everybody = (line: string) => {
    for (const person of persons) recordLine(person, `-- ${line}`);
  };
  while (performance.now() < until) {
    const { name, kill, stopMs } = random.pick(targets);
    const byKill = kill && random.next() < 0.7;
    const ms = Math.round(random.next() * (byKill ? 2_000 : stopMs));
    if (stack.isUp(name) && !frozen.has(name)) {
      count += 1;
      everybody(`${name} is ${byKill ? "killed, back" : "stopped, going on"} after ${ms} ms`);
      if (byKill) await stack.bounce(name, ms);
      else {
        const goOn = stack.freeze(name);
        frozen.add(name);
        const thawed = sleep(ms).then(() => {
          goOn();
          frozen.delete(name);
          running.delete(thawed);
        });
        running.add(thawed);
      }
    }
    await sleep(200 + random.below(1_500));
  }
  await Promise.all(running);
  await stack.allUp();
  everybody("no more faults");
  return count;
}

/** Signs up, then signs in and sends transactions repeatedly until the time is over, and once after it. */
async function live(person: Person, until: number): Promise<void> {
  await sleep(random.below(FAULTS_MS / 2));
  await signUp(person, { idempotent: random.next() < 0.5 });
  await untilComplete(person);
  const { accountId } = person;
  for (let last = false; ; ) {
    await signIn(person);
    expect(person.accountId).toBe(accountId);
    transactions.push(await transact(person));
    if (last) return;
    last = performance.now() >= until;
    await sleep(random.below(2_000));
  }
}

it(
  "with random kills and stalls, nothing is lost and nothing is done twice",
  async () => {
    const started = performance.now();
    const until = started + FAULTS_MS;
    const lives = Array.from({ length: PERSONS }, async (_, index) => {
      const person = createPerson(stack.stack, index);
      persons.push(person);
      await live(person, until).catch((error: Error) => {
        problems.push(`${person.email}: ${error.message}\n    ${person.story.join("\n    ")}`);
      });
    });
    const count = await faults(until);
    await Promise.all(lives);
    await quiet(stack.stack).catch((error: Error) => problems.push(error.message));
    problems.push(...stack.died().map((name) => `${name} died by itself`));
    problems.push(...(await broken(stack.stack, chain, startHeight, persons)));
    const seconds = ((performance.now() - started) / 1000).toFixed(0);
    console.log(
      `random schedule: ${count} faults, ${PERSONS} persons, ${transactions.length} transactions, ${seconds} s`,
    );
    expect(problems).toEqual([]);
  },
  FAULTS_MS + 300_000,
);
