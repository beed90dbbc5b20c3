import { setTimeout as sleep } from "node:timers/promises";
import { generateDeviceKey } from "@countersign/client/node";
import { createPhone, signUpPerson } from "@countersign/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { newSecret, type Received, startReceiver, writeEndpoints } from "../support/webhook-receiver.ts";
import { type FaultStack, replicasOf, startFaultStack } from "./fault-stack.ts";
import { quiet } from "./invariants.ts";

const PEOPLE = 6;
const ROUNDS = 8;
const secret = newSecret();
const receiver = await startReceiver(() => [secret]);
let stack: FaultStack;
beforeAll(async () => {
  stack = await startFaultStack({}, 2, undefined, (stateDir) => {
    writeEndpoints(stateDir, [{ id: "demo", appId: "demo", url: receiver.url, secrets: [secret] }]);
    return {};
  });
}, 180_000);
afterAll(async () => {
  receiver.close();
  await stack?.stop();
}, 60_000);

it("the device service is killed again and again, the receiver fails and hangs: every event arrives, in order", {
  timeout: 400_000,
}, async () => {
  let requests = 0;
  let isBad = true;
  /** The ids that were answered with a 204, in the order of the answers. */
  const taken: Received[] = [];
  receiver.status = (message) => {
    requests += 1;
    // Of seven requests one fails, one is redirected, one hangs.
    if (isBad && requests % 7 === 1) return 500;
    if (isBad && requests % 7 === 3) return 302;
    if (isBad && requests % 7 === 5) return undefined;
    taken.push(message);
    return 204;
  };
  // The receiver counts from the first event on: a sign-up has some.
  const people = await Promise.all(
    Array.from({ length: PEOPLE }, () =>
      signUpPerson(stack.stack, createPhone(stack.stack, { deviceKey: generateDeviceKey() })),
    ),
  );
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all(
      people.map(async ({ client }) => {
        const name = `phone ${round}`;
        // While both replicas are down the change is refused; the next round makes another one.
        await client.updateDevice({ name }).catch(() => undefined);
      }),
    );
    const victim = replicasOf("device")[round % 2]!;
    await expect.poll(() => stack.isUp(victim), { timeout: 60_000 }).toBe(true);
    await sleep(500);
    await stack.bounce(victim, 500);
  }
  await stack.allUp();
  isBad = false;
  const last = people.map(({ signedUp }) => signedUp.account.id);
  for (const { client } of people) await client.updateDevice({ name: "last" });

  // Everything that device's outbox emitted is in NATS; the queues are empty once all of it has arrived.
  const { default: pg } = await import("pg");
  const database = new pg.Client({ connectionString: stack.stack.databases.device });
  await database.connect();
  try {
    const left = async () =>
      Number((await database.query("SELECT count(*) FROM webhook_queue")).rows[0].count) +
      Number((await database.query("SELECT count(*) FROM outbox")).rows[0].count);
    await quiet(stack.stack);
    await expect.poll(left, { timeout: 240_000, interval: 1_000 }).toBe(0);
    const { rows } = await database.query<{ account: string; id: string; state: string; queued: Date }>(
      "SELECT account_id AS account, event_id AS id, state, created_at AS queued FROM webhook_delivery ORDER BY event_id",
    );
    expect(rows.filter(({ state }) => state !== "delivered")).toEqual([]);
    for (const account of last) {
      const own = rows.filter((row) => row.account === account);
      // A process that dies after an answer sends that event once more.
      const arrived = [...new Set(taken.filter(({ data }) => data.accountId === account).map(({ id }) => id))];
      expect(arrived.toSorted()).toEqual(own.map(({ id }) => id));
      expect(own.length).toBeGreaterThan(ROUNDS / 2);
      const positions = own.map((row) => ({ ...row, at: arrived.indexOf(row.id) }));
      // Only an event that reached the queue after a later one may arrive after it.
      const swapped = positions.flatMap((earlier, i) =>
        positions
          .slice(i + 1)
          .filter((later) => later.at < earlier.at && later.queued.getTime() > earlier.queued.getTime() + 1_000),
      );
      expect(swapped).toEqual([]);
    }
    expect(receiver.forged).toEqual([]);
  } finally {
    await database.end();
  }
});
