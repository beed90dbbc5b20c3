import { uuidv7 } from "@countersign/core";
import { createTestDatabase, type TestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { openPostgres, type Postgres, sql } from "@countersign/postgres";
import { createLogger } from "@countersign/runtime";
import { afterAll, beforeAll, expect, it } from "vitest";
import { eventRow, startOutboxPublisher } from "./index.ts";
import { beginNats, type TestNats } from "./testing/nats-server.ts";

const accountId = "019a0000-0000-7000-8000-000000000001";
let nats: TestNats;
let database: TestDatabase;
let postgres: Postgres;
beforeAll(async () => {
  [nats, database] = await Promise.all([beginNats(), createTestDatabase("device")]);
  postgres = openPostgres(database.url, { timeouts: { statementMs: 200 } });
});
afterAll(async () => {
  await postgres?.close();
  await database?.drop();
  await nats?.end();
});

/** Inserts a row whose id this process has made, or another one, which has ended. */
async function insert(isOwn: boolean): Promise<void> {
  const createdAt = new Date();
  const id = uuidv7({ now: () => createdAt });
  if (isOwn) eventRow("device", "device-removed", { accountId, occurredAt: createdAt, id }, {});
  const subject = `cs.v1.device.${accountId}.device-removed`;
  await postgres.execute(sql`
    INSERT INTO outbox (id, subject, payload, created_at, account_id)
    VALUES (${id}::uuid, ${subject}, ${new Uint8Array()}, ${createdAt}, ${accountId}::uuid)`);
}

it("events are published although the look for the oldest one meets its time limit", { timeout: 20_000 }, async () => {
  let wholeLooks = 0;
  // As with tens of millions of deleted rows, which an open transaction keeps.
  const slow: Postgres = {
    ...postgres,
    query: (statement) => {
      // The smallest id of all is smaller, and that of each event larger.
      const isWhole = statement.text.includes("extract(epoch") && !statement.values.some((id) => `${id}` > "01");
      if (!isWhole) return postgres.query(statement);
      wholeLooks += 1;
      return postgres.query(sql`SELECT pg_sleep(10)::text`);
    },
  };
  const began = performance.now();
  const link = nats.linkAs("device");
  const publisher = startOutboxPublisher({
    nats: link,
    postgres: slow,
    pollMs: 100,
    logger: createLogger({ name: "test", level: process.env.CS_LOG_LEVEL ?? "silent" }),
  });
  await insert(true);
  await insert(false);
  const left = async () => (await postgres.query(sql`SELECT 1 FROM outbox`)).length;
  await expect.poll(left).toBe(0);
  await publisher.close();
  await link.close();
  // Each took the 200 ms of the limit: the next one comes after ten seconds.
  expect(wholeLooks).toBeLessThanOrEqual(1 + (performance.now() - began) / 10_000);
});
