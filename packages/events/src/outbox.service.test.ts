import { readFileSync } from "node:fs";
import { FixedClock, uuidv7 } from "@countersign/core";
import { createTestDatabase, type TestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { createLogger } from "@countersign/runtime";
import type { NatsConnection } from "nats";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import {
  type DeliveredEvent,
  type Durable,
  EVENTS_STREAM,
  outboxRow,
  setUpEvents,
  startConsumer,
  startOutboxPublisher,
} from "./index.ts";
import { beginNats, LASTING, type TestNats } from "./testing/nats-server.ts";

const accountId = "019a0000-0000-7000-8000-000000000001";
const clock = new FixedClock();
const logger = createLogger({ name: "test", level: process.env.CS_LOG_LEVEL ?? "silent" });

const table = `DROP TABLE IF EXISTS outbox CASCADE; DROP FUNCTION IF EXISTS notify_outbox CASCADE;
  CREATE TABLE outbox (id uuid PRIMARY KEY, subject text NOT NULL, payload bytea NOT NULL,
    created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP, published_at timestamptz(3));`;
const trigger = readFileSync(new URL("../outbox.sql", import.meta.url), "utf8");

let nats: TestNats;
let database: TestDatabase;
let db: pg.Client;
let operator: NatsConnection | undefined;
const closers: (() => Promise<void>)[] = [];

async function streamMessages(): Promise<number> {
  operator ??= await nats.connectAs("operator", LASTING);
  const connection = operator;
  // A request made while the connection comes back from a restart of the server is lost, and repeated.
  return vi.waitFor(
    async () => {
      const manager = await connection.jetstreamManager({ timeout: 1_000 });
      return (await manager.streams.info(EVENTS_STREAM)).state.messages;
    },
    { timeout: 10_000 },
  );
}

async function insert(count: number): Promise<string[]> {
  const ids: string[] = [];
  await db.query("BEGIN");
  for (let index = 0; index < count; index += 1) {
    clock.advance(1);
    const id = uuidv7(clock);
    const message = Event.encode(
      Event.fromPartial({ id, accountId, deviceUpdated: { deviceId: String(index) } }),
    ).finish();
    const row = outboxRow({
      service: "device",
      accountId,
      event: "device-removed",
      message,
      id,
      createdAt: new Date(),
    });
    await db.query("INSERT INTO outbox (id, subject, payload, created_at) VALUES ($1, $2, $3, $4)", [
      row.id,
      row.subject,
      Buffer.from(row.payload),
      row.createdAt,
    ]);
    ids.push(id);
  }
  await db.query("COMMIT");
  return ids;
}

async function waiting(): Promise<number> {
  const { rows } = await db.query<{ n: number }>("SELECT count(*)::int AS n FROM outbox WHERE published_at IS NULL");
  return rows[0]!.n;
}

function publisher(changes: { pollMs?: number } = {}): void {
  const started = startOutboxPublisher({
    databaseUrl: database.url,
    natsUrl: nats.url,
    tls: nats.tlsOf("device"),
    logger,
    ...changes,
  });
  closers.push(started.close);
}

function consumer(durable: Durable, handler: (delivered: DeliveredEvent) => Promise<void>): () => Promise<void> {
  const started = startConsumer({
    natsUrl: nats.url,
    tls: nats.tlsOf("auth"),
    logger,
    durable,
    handler,
  });
  closers.push(started.close);
  return started.close;
}

describe("the outbox", () => {
  beforeAll(async () => {
    nats = await beginNats();
  });

  afterAll(() => nats?.end());

  beforeEach(async () => {
    database = await createTestDatabase("device");
    db = new pg.Client({ connectionString: database.url });
    await db.connect();
    await db.query(table);
    await db.query(trigger);
  });

  afterEach(async () => {
    await Promise.all(closers.splice(0).map((close) => close()));
    await db.end();
    await database.drop();
  });

  test("publishes on notification, long before the next poll, and marks the row", async () => {
    publisher({ pollMs: 60_000 });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const before = await streamMessages();
    await insert(1);
    await vi.waitFor(async () => expect(await waiting()).toBe(0), { timeout: 3_000 });
    expect(await streamMessages()).toBe(before + 1);
  });

  test("two replicas publish every row, each once", async () => {
    const ids = await insert(350);
    const seen: string[] = [];
    consumer("auth-device-removed", async ({ event }) => {
      if (ids.includes(event.id)) seen.push(event.id);
    });
    publisher();
    publisher();
    await vi.waitFor(async () => expect(await waiting()).toBe(0), { timeout: 10_000 });
    await vi.waitFor(() => expect(seen).toHaveLength(350), { timeout: 10_000 });
    expect(new Set(seen).size).toBe(350);
  });

  test("a row published before its mark was lost is dropped by its id", async () => {
    const [id] = await insert(1);
    publisher();
    await vi.waitFor(async () => expect(await waiting()).toBe(0), { timeout: 5_000 });
    const before = await streamMessages();
    await db.query("UPDATE outbox SET published_at = NULL WHERE id = $1", [id]);
    await vi.waitFor(async () => expect(await waiting()).toBe(0), { timeout: 5_000 });
    expect(await streamMessages()).toBe(before);
  });

  test("rows wait while NATS is away and go out when it is back", async () => {
    publisher();
    await insert(1);
    await vi.waitFor(async () => expect(await waiting()).toBe(0), { timeout: 5_000 });
    await nats.stop();
    await insert(3);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await waiting()).toBe(3);
    await nats.start();
    await vi.waitFor(async () => expect(await waiting()).toBe(0), { timeout: 15_000 });
  });

  test("losing Postgres while waiting for NATS ends nothing: the rows are published later", async () => {
    publisher({ pollMs: 100 });
    await insert(1);
    await expect.poll(waiting, { timeout: 10_000 }).toBe(0);
    const before = await streamMessages();
    process.kill(nats.pid(), "SIGSTOP");
    try {
      await insert(2);
      const idle = "application_name = 'outbox' AND datname = current_database() AND state = 'idle in transaction'";
      const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${idle}`;
      await expect.poll(async () => (await db.query(cut)).rowCount, { timeout: 10_000 }).toBe(1);
      // An error without a listener shows as an uncaught one of this run.
      await new Promise((resolve) => setTimeout(resolve, 200));
    } finally {
      process.kill(nats.pid(), "SIGCONT");
    }
    await expect.poll(waiting, { timeout: 15_000 }).toBe(0);
    expect(await streamMessages()).toBe(before + 2);
  });

  test("unmarked rows are published again to a new stream, as on an upgrade", async () => {
    publisher({ pollMs: 100 });
    const ids = await insert(3);
    await expect.poll(waiting, { timeout: 10_000 }).toBe(0);
    await streamMessages();
    await (await operator!.jetstreamManager()).streams.delete(EVENTS_STREAM);
    await setUpEvents(operator!);
    expect(await streamMessages()).toBe(0);
    const { rowCount } = await db.query(
      "UPDATE outbox SET published_at = NULL WHERE published_at > now() - interval '7 days'",
    );
    expect(rowCount).toBe(3);
    const seen: string[] = [];
    consumer("auth-device-removed", async ({ event }) => void seen.push(event.id));
    await expect.poll(() => seen.toSorted(), { timeout: 10_000 }).toEqual(ids);
    expect(await streamMessages()).toBe(3);
  });

  test("old published rows are removed, waiting ones never", async () => {
    await insert(2);
    await db.query("UPDATE outbox SET created_at = now() - interval '30 days'");
    await db.query(
      "UPDATE outbox SET published_at = now() - interval '8 days' WHERE id = (SELECT id FROM outbox LIMIT 1)",
    );
    publisher();
    await vi.waitFor(async () => expect((await db.query("SELECT 1 FROM outbox")).rowCount).toBe(1), { timeout: 5_000 });
  });

  test("an event whose handler fails comes again, and a consumer resumes where it was", async () => {
    publisher();
    const [first] = await insert(1);
    const attempts: number[] = [];
    const close = consumer("auth-device-removed", async ({ event, attempt }) => {
      if (event.id !== first) return;
      attempts.push(attempt);
      if (attempt < 3) throw new Error("not yet");
    });
    await vi.waitFor(() => expect(attempts).toEqual([1, 2, 3]), { timeout: 10_000 });
    await close();
    const [second] = await insert(1);
    const seen: string[] = [];
    consumer("auth-device-removed", async ({ event }) => void seen.push(event.id));
    await vi.waitFor(() => expect(seen).toEqual([second]), { timeout: 10_000 });
  });

  test("a compromised gateway takes no event away from a service, and reads none", async () => {
    const stolen = nats.connectAs("gateway", { maxReconnectAttempts: 0, timeout: 3_000 });
    await expect(stolen.then((connection) => connection.close())).rejects.toThrow(/authorization/i);
  });
});
