import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chainReader } from "./chain-reader.ts";
import { allFaultPoints } from "./fault-points.ts";
import { type FaultStack, type Program, programs, replicasOf, startFaultStack } from "./fault-stack.ts";
import { broken, quiet } from "./invariants.ts";
import { logIn, newPhone, type Phone, settle, signUp, tell } from "./phone.ts";
import { seededRandom } from "./seed.ts";

/** Persons who sign up at the same time. */
const CROWD = 8;
/** Processes that are down at the same time, of different programs. */
const MOST_DOWN = 3;
const LIMIT_MS = 420_000;

interface Cell {
  point: string;
  victim: Program;
  /** What was killed, once it was. */
  killed?: string;
}

/** FAULT_ONLY=account/ tries only the points that begin so. */
const only = process.env.FAULT_ONLY ?? "";
const cells: Cell[] = allFaultPoints
  .filter((point) => point.startsWith(only))
  .flatMap((point) => programs.map((victim) => ({ point, victim })));
const random = seededRandom("kill matrix");

let stack: FaultStack;
let chain: ReturnType<typeof chainReader>;
let startHeight: bigint;
const persons: Phone[] = [];
const problems: string[] = [];

async function join(sign: (phone: Phone) => Promise<void>): Promise<void> {
  const phone = newPhone(stack.stack, persons.length);
  persons.push(phone);
  await sign(phone);
}

async function signUpAndSettle(phone: Phone): Promise<void> {
  const login = await logIn(stack.stack, phone);
  await signUp(stack.stack, phone, login, random.next() < 0.5);
  await settle(phone);
}

const programOf = (process: string): Program => process.replace(/-\d+$/, "") as Program;

function nameOf(pid: number): string | undefined {
  return Object.entries(stack.stack.processes).find(([, running]) => running.pid === pid)?.[0];
}

/** Kills what the next open cell of this point asks for, if that program has both of its processes now. */
function createJudge() {
  const open = random.shuffle(cells);
  const down = () => programs.flatMap(replicasOf).filter((name) => !stack.isUp(name)).length;
  const whole = (program: Program) => replicasOf(program).every((name) => stack.isUp(name));

  const judge = async ({ point, pid }: { point: string; pid: number }) => {
    const reaching = nameOf(pid);
    if (reaching === undefined || !stack.isUp(reaching) || down() >= MOST_DOWN) return;
    // Every service has an outbox: it is the service's own publisher that must die.
    const shared = point.startsWith("outbox/");
    const fits = ({ victim }: Cell) => !shared || victim === "gateway" || victim === programOf(reaching);
    const index = open.findIndex((cell) => cell.point === point && whole(cell.victim) && fits(cell));
    const cell = open[index];
    if (!cell) return;
    open.splice(index, 1);
    cell.killed = programOf(reaching) === cell.victim ? reaching : random.pick(replicasOf(cell.victim));
    for (const phone of persons) {
      if (phone.accountId === "") tell(phone, `-- at ${point} (${reaching}) ${cell.killed} is killed`);
    }
    await stack.bounce(cell.killed);
  };
  return { judge, open };
}

beforeAll(async () => {
  stack = await startFaultStack();
  chain = chainReader(stack.stack.chains[0]!.accessNode);
  startHeight = await chain.height();
}, 180_000);

afterAll(async () => {
  if (problems.length > 0) console.log(`logs: ${stack.keepLogs()}`);
  await stack?.stop();
}, 60_000);

it("a sign-up without faults passes every fault point, so that the matrix is complete", async () => {
  const reached = new Set<string>();
  stack.controller.judge = ({ point }) => void reached.add(point);
  await join(signUpAndSettle);
  stack.controller.judge = undefined;
  expect([...reached].sort()).toEqual([...allFaultPoints].sort());
}, 60_000);

describe("with a process killed at each fault point", () => {
  beforeAll(async () => {
    const started = performance.now();
    const { judge, open } = createJudge();
    stack.controller.judge = judge;
    const one = async () => {
      while (open.length > 0 && performance.now() - started < LIMIT_MS) {
        await join((phone) =>
          signUpAndSettle(phone).catch((error: Error) => {
            problems.push(`${phone.email}: ${error.message}\n    ${phone.story.join("\n    ")}`);
          }),
        );
      }
    };
    await Promise.all(Array.from({ length: CROWD }, one));
    stack.controller.judge = undefined;
    await stack.allUp();
    await quiet(stack.stack, 60_000).catch((error: Error) => problems.push(error.message));
    const seconds = ((performance.now() - started) / 1000).toFixed(0);
    const kills = cells.filter((cell) => cell.killed).length;
    console.log(`kill matrix: ${kills} of ${cells.length} kills, ${persons.length} persons, ${seconds} s`);
  }, LIMIT_MS + 180_000);

  it.each(cells)("at $point, $victim is killed", ({ killed }) => expect(killed).toBeDefined());

  it("everybody has one account, one key, one device, one chain of events, and every signature its record", async () => {
    problems.push(...(await broken(stack.stack, chain, startHeight, persons)));
    expect(problems).toEqual([]);
  }, 60_000);
});
