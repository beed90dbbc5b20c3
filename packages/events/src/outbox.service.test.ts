import { uuidv7 } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { createTestDatabase, type TestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { openPostgres } from "@countersign/postgres";
import { createLogger } from "@countersign/runtime";
import type { NatsConnection } from "nats";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Durable } from "./consumers.ts";
import { type DeliveredEvent, eventRow, startConsumer, startOutboxPublisher } from "./index.ts";
import { setUpEvents } from "./set-up.ts";
import { EVENTS_STREAM } from "./stream.ts";
import { beginNats, LASTING, type TestNats } from "./testing/nats-server.ts";

const accountId = "019a0000-0000-7000-8000-000000000001";
/** Runs ahead of the real time by a millisecond for each row, so that ids are in the order of the rows. */
const clock = new FixedClock(new Date());
const logger = createLogger({ name: "test", level: process.env.CS_LOG_LEVEL ?? "silent" });

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

/** Returns the message ids of the newest events of the stream, in its order. */
async function lastIds(count: number): Promise<string[]> {
  const { streams } = await operator!.jetstreamManager();
  const { last_seq: last } = (await streams.info(EVENTS_STREAM)).state;
  const ids: string[] = [];
  for (let seq = last - count + 1; seq <= last; seq++) {
    ids.push((await streams.getMessage(EVENTS_STREAM, { seq })).header.get("Nats-Msg-Id"));
  }
  return ids;
}

/** Inserts rows in one transaction, which commits after `commitMs`. Returns their ids. */
async function insert(count: number, { commitMs = 0 } = {}): Promise<string[]> {
  const ids: string[] = [];
  if (clock.now() < new Date()) clock.set(new Date());
  await db.query("BEGIN");
  for (let index = 0; index < count; index += 1) {
    clock.advance(1);
    const id = uuidv7(clock);
    const context = { id, accountId, occurredAt: new Date() };
    const row = eventRow("device", "device-removed", context, { deviceUpdated: { deviceId: String(index) } });
    await db.query("INSERT INTO outbox (id, subject, payload, created_at, account_id) VALUES ($1, $2, $3, $4, $5)", [
      row.id,
      row.subject,
      Buffer.from(row.payload),
      row.createdAt,
      row.accountId,
    ]);
    ids.push(id);
  }
  if (commitMs > 0) await new Promise((resolve) => setTimeout(resolve, commitMs));
  await db.query("COMMIT");
  return ids;
}

async function waiting(): Promise<number> {
  const { rows } = await db.query<{ n: number }>("SELECT count(*)::int AS n FROM outbox");
  return rows[0]!.n;
}

function publisher(changes: { pollMs?: number } = {}): void {
  const postgres = openPostgres(`${database.url}?application_name=outbox`, { connections: 1 });
  const link = nats.linkAs("device");
  const started = startOutboxPublisher({ nats: link, postgres, logger, ...changes });
  closers.push(async () => {
    await started.close();
    await link.close();
    await postgres.close();
  });
}

function consumer(durable: Durable, handler: (delivered: DeliveredEvent) => Promise<void>): () => Promise<void> {
  const link = nats.linkAs("auth");
  const started = startConsumer({ nats: link, logger, durable, handler });
  const close = async () => {
    await started.close();
    await link.close();
  };
  closers.push(close);
  return close;
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
  });

  afterEach(async () => {
    await Promise.all(closers.splice(0).map((close) => close()));
    await db.end();
    await database.drop();
  });

  test("publishes a row of this process soon after its commit, long before the next poll, and deletes it", async () => {
    publisher({ pollMs: 60_000 });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const before = await streamMessages();
    await insert(1, { commitMs: 500 });
    await expect.poll(waiting).toBe(0);
    expect(await streamMessages()).toBe(before + 1);
  });

  test.each([
    ["ended before it published them", 0, 3_000],
    ["committed a minute after it made their ids", 60_000, 8_000],
    ["had a clock that was an hour ahead", -3_600_000, 3_000],
  ])("a poll finds the rows of a process that %s", async (_, agoMs, timeout) => {
    publisher({ pollMs: 300 });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const id = uuidv7({ now: () => new Date(Date.now() - agoMs) });
    const subject = `cs.v1.device.${accountId}.device-removed`;
    await db.query("INSERT INTO outbox (id, subject, payload) VALUES ($1, $2, '')", [id, subject]);
    await expect.poll(waiting, { timeout }).toBe(0);
  });

  test("a row that NATS refuses holds up no other", async () => {
    publisher({ pollMs: 300 });
    const id = uuidv7({ now: () => new Date(Date.now() - 10_000) });
    const subject = `cs.v1.device.${accountId}.device-removed`;
    const tooLarge = Buffer.alloc(2 ** 21);
    await db.query("INSERT INTO outbox (id, subject, payload) VALUES ($1, $2, $3)", [id, subject, tooLarge]);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    for (let round = 0; round < 3; round += 1) {
      await insert(1);
      await expect.poll(waiting).toBe(1);
    }
  });

  test("two replicas publish every row, each once", async () => {
    const ids = await insert(350);
    const seen: string[] = [];
    consumer("auth-device-removed", async ({ event }) => {
      if (ids.includes(event.id)) seen.push(event.id);
    });
    publisher();
    publisher();
    await expect.poll(waiting).toBe(0);
    await expect.poll(() => seen).toHaveLength(350);
    expect(new Set(seen).size).toBe(350);
  });

  test("a row whose deletion was lost after NATS had it is dropped by its id", async () => {
    await insert(1);
    const { rows } = await db.query("SELECT id, subject, payload FROM outbox");
    publisher({ pollMs: 100 });
    await expect.poll(waiting).toBe(0);
    const before = await streamMessages();
    const { id, subject, payload } = rows[0];
    await db.query("INSERT INTO outbox (id, subject, payload) VALUES ($1, $2, $3)", [id, subject, payload]);
    await expect.poll(waiting).toBe(0);
    expect(await streamMessages()).toBe(before);
  });

  test("nothing is lost, and nothing twice in the stream, while publishers lose their connections", async () => {
    const before = await streamMessages();
    const replicas = 3;
    for (let i = 0; i < replicas; i++) publisher({ pollMs: 100 });
    const ids: string[] = [];
    const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'outbox' AND datname = current_database()`;
    let cuts = 0;
    for (let round = 0; round < 30 || (cuts < 5 && round < 1_000); round++) {
      ids.push(...(await insert(20)));
      cuts += (await db.query(cut)).rowCount ?? 0;
    }
    expect(cuts).toBeGreaterThan(4);
    await expect.poll(waiting, { timeout: 20_000 }).toBe(0);
    expect(await streamMessages()).toBe(before + ids.length);
    expect((await lastIds(ids.length)).toSorted()).toEqual(ids.toSorted());
  });

  test("one publisher keeps the order of the rows", async () => {
    const ids = await insert(1_200);
    publisher();
    await expect.poll(waiting).toBe(0);
    expect(await lastIds(ids.length)).toEqual(ids);
  });

  test("rows wait while NATS is away and go out when it is back", async () => {
    publisher();
    await insert(1);
    await expect.poll(waiting).toBe(0);
    await nats.stop();
    await insert(3);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await waiting()).toBe(3);
    await nats.start();
    await expect.poll(waiting).toBe(0);
  });

  test("losing Postgres while waiting for NATS ends nothing: the rows are published later", async () => {
    publisher({ pollMs: 100 });
    await insert(1);
    await expect.poll(waiting).toBe(0);
    const before = await streamMessages();
    process.kill(nats.pid(), "SIGSTOP");
    try {
      await insert(2);
      const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'outbox' AND datname = current_database()`;
      await expect.poll(async () => (await db.query(cut)).rowCount).toBe(1);
      // An error without a listener shows as an uncaught one of this run.
      await new Promise((resolve) => setTimeout(resolve, 200));
    } finally {
      process.kill(nats.pid(), "SIGCONT");
    }
    await expect.poll(waiting).toBe(0);
    expect(await streamMessages()).toBe(before + 2);
  });

  test("rows that wait for a missing stream are published to the new one", async () => {
    publisher({ pollMs: 100 });
    await streamMessages();
    await (await operator!.jetstreamManager()).streams.delete(EVENTS_STREAM);
    const ids = await insert(3);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await waiting()).toBe(3);
    await setUpEvents(operator!);
    const seen: string[] = [];
    consumer("auth-device-removed", async ({ event }) => void seen.push(event.id));
    await expect.poll(() => seen.toSorted()).toEqual(ids);
    expect(await streamMessages()).toBe(3);
    expect(await waiting()).toBe(0);
  });

  test("an event whose handler fails comes again, and a consumer resumes where it was", {
    timeout: 60_000,
  }, async () => {
    publisher();
    const [first] = await insert(1);
    const attempts: number[] = [];
    const close = consumer("auth-device-removed", async ({ event, attempt }) => {
      if (event.id !== first) return;
      attempts.push(attempt);
      if (attempt < 3) throw new Error("not yet");
    });
    await vi.waitFor(() => expect(attempts).toEqual([1, 2, 3]), { timeout: 20_000 });
    await close();
    const [second] = await insert(1);
    const seen: string[] = [];
    consumer("auth-device-removed", async ({ event }) => void seen.push(event.id));
    // Longer than the time to acknowledge, after which an event comes again that no consumer took.
    await vi.waitFor(() => expect(seen).toEqual([second]), { timeout: 35_000 });
  });

  test("a compromised gateway takes no event away from a service, and reads none", async () => {
    const stolen = nats.connectAs("gateway", { maxReconnectAttempts: 0, timeout: 3_000 });
    await expect(stolen.then((connection) => connection.close())).rejects.toThrow(/authorization/i);
  });
});
