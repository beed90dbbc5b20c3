import { resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runByHand } from "../e2e/by-hand.ts";
import { liftHolds } from "../support/admin.ts";
import { query, readEvents } from "./books.ts";
import { faultPointsOf } from "./fault-points.ts";
import { type FaultStack, startFaultStack } from "./fault-stack.ts";
import { completePerson, type Person, transact } from "./person.ts";

const ADD_CONTRACT = (name: string) =>
  `transaction { prepare(a: auth(AddContract) &Account) { a.contracts.add(name: "${name}", code: "access(all) contract ${name} {}".utf8) } }`;
const pollOptions = { timeout: 60_000, interval: 100 };

let stack: FaultStack;
let person: Person;
let contracts = 0;

beforeAll(async () => {
  stack = await startFaultStack();
  person = await completePerson(stack.stack);
}, 180_000);
afterAll(() => stack?.stop(), 60_000);

/** Deploys a contract by hand; returns the transaction's id. */
async function attack(): Promise<string> {
  contracts += 1;
  const { chainName, accessNode } = stack.stack.chains[0]!;
  const open = { chainName, accessNode, stateDir: resolve(stack.stack.stateDir) };
  const { id, result } = await runByHand(open, person, ADD_CONTRACT(`Sly${contracts}`));
  expect(result.errorMessage).toBe("");
  return id;
}

const signs = () =>
  transact(person).then(
    () => "signed",
    ({ error, message }: { error?: string; message: string }) => error ?? message,
  );
const countOf = async (service: string, from: string, transactionId: string) =>
  (await query(stack.stack, service, `SELECT 1 FROM ${from} WHERE transaction_id = '${transactionId}'`)).length;

/** Expects one alert, one hold and a freeze; then an operator lifts it and the person can sign again. */
async function frozenOnce(transactionId: string): Promise<void> {
  await expect.poll(() => countOf("auth", "account_hold", transactionId), pollOptions).toBe(1);
  await stack.allUp();
  await expect.poll(signs, pollOptions).toBe("AccountFrozen");
  expect(await countOf("account", "chain_alert", transactionId)).toBe(1);
  const alerts = (await readEvents(stack.stack)).filter(({ subject }) => subject.endsWith(".chain-alert"));
  expect(alerts.length).toBe(contracts);
  const held = await query(
    stack.stack,
    "auth",
    `SELECT alert_id FROM account_hold WHERE account_id = '${person.accountId}' ORDER BY placed_at DESC`,
  );
  const lifted = await liftHolds(stack.stack, person.accountId, String(held[0]!.alert_id));
  expect(lifted).toContainEqual(expect.stringContaining(transactionId));
  await expect.poll(signs, pollOptions).toBe("signed");
  expect(stack.died()).toEqual([]);
}

it("without faults, an alert passes every fault point", async () => {
  const points = faultPointsOf("chainAlert");
  const reached = new Set<string>();
  stack.controller.judge = ({ point }) => void reached.add(point);
  await frozenOnce(await attack());
  await expect.poll(() => points.filter((point) => !reached.has(point)), pollOptions).toEqual([]);
  stack.controller.judge = undefined;
});

describe("a process dies between the alert and the freeze, which comes nevertheless, and once", () => {
  const cells = faultPointsOf("chainAlert").flatMap((point) =>
    (["itself", "auth", "account", "nats"] as const).map((victim) => [point, victim] as const),
  );
  it.each(cells)("at %s: %s", async (wanted, victim) => {
    let killing: Promise<unknown> | undefined;
    stack.controller.judge = async ({ point, pid }) => {
      if (point !== wanted || killing !== undefined) return;
      const itself = Object.entries(stack.stack.processes).find(([, running]) => running.pid === pid)?.[0];
      // Of another service both replicas, so that none of them can take over.
      const names = victim === "itself" ? [itself ?? ""] : victim === "nats" ? ["nats"] : [victim, `${victim}-2`];
      killing = Promise.all(names.map((name) => stack.bounce(name)));
      await killing;
    };
    const transactionId = await attack();
    await expect.poll(() => killing, pollOptions).toBeDefined();
    await killing;
    stack.controller.judge = undefined;
    await frozenOnce(transactionId);
  });
});
