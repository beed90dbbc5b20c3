import { systemClock, uuidv7 } from "@countersign/core";
import { createTestDatabase, type TestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { openPostgres } from "@countersign/postgres";
import { createLogger } from "@countersign/runtime";
import { connect, type JetStreamManager, type NatsConnection } from "nats";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { eventRow, linkNats, startConsumer, startOutboxPublisher } from "./index.ts";
import { setUpEvents } from "./set-up.ts";
import { EVENTS_STREAM, partitionOf } from "./stream.ts";
import { beginNatsCluster, type NatsCluster } from "./testing/nats-cluster.ts";

const accountId = "019a0000-0000-7000-8000-000000000001";
const logger = createLogger({ name: "test", level: process.env.CS_LOG_LEVEL ?? "silent" });
const ROWS_PER_COMMIT = 20;
/** `npm run test:nats-cluster` kills three. */
const KILLS = Number(process.env.CS_TEST_LEADER_KILLS ?? 1);

/** The stream of the account's events. */
let name: string;
let cluster: NatsCluster;
let database: TestDatabase;
let db: pg.Client;
let operator: NatsConnection;
let manager: JetStreamManager;

/** Returns an answer of the cluster; repeats the request while it elects a leader. */
const answerOf = <T>(request: () => Promise<T>): Promise<T> => vi.waitFor(request, { timeout: 30_000, interval: 200 });

const stream = () => answerOf(() => manager.streams.info(name));

/** Waits until all three servers have the stream, up to its last event. */
async function replicated(): Promise<void> {
  const followers = async () => (await stream()).cluster?.replicas?.map(({ current }) => current);
  await expect.poll(followers, { timeout: 30_000, interval: 200 }).toEqual([true, true]);
}

/** Commits rows of the outbox, and returns their ids. */
async function insert(): Promise<string[]> {
  const ids = Array.from({ length: ROWS_PER_COMMIT }, () => uuidv7(systemClock));
  await db.query("BEGIN");
  for (const id of ids) {
    const context = { id, accountId, occurredAt: new Date() };
    const row = eventRow("device", "device-removed", context, { deviceUpdated: { deviceId: id } });
    await db.query("INSERT INTO outbox (id, subject, payload) VALUES ($1, $2, $3)", [
      row.id,
      row.subject,
      Buffer.from(row.payload),
    ]);
  }
  await db.query("COMMIT");
  return ids;
}

describe.each([1, 4])("three NATS servers with partitions: %i", (partitions) => {
  beforeAll(async () => {
    name = partitions === 1 ? EVENTS_STREAM : `${EVENTS_STREAM}_${partitionOf(accountId, partitions)}`;
    cluster = await beginNatsCluster(partitions);
    const { ca, cert, key } = cluster.tlsOf("operator");
    const tls = { ca: ca.toString(), cert: cert.toString(), key: key.toString() };
    const servers = cluster.url.split(",");
    operator = await connect({ servers, tls, maxReconnectAttempts: -1, reconnectTimeWait: 200 });
    manager = await answerOf(() => operator.jetstreamManager({ timeout: 2_000 }));
    await answerOf(() => setUpEvents(operator, { replicas: 3, partitions }));
    database = await createTestDatabase("device");
    db = new pg.Client({ connectionString: database.url });
    await db.connect();
  });

  afterAll(async () => {
    await operator?.close();
    await db?.end();
    await cluster?.end();
    await database?.drop();
  });

  it("lose no event, and store none twice, while the leader of the stream is killed", {
    timeout: 180_000,
  }, async () => {
    const linkAs = (service: string) =>
      linkNats({ natsUrl: cluster.url, tls: cluster.tlsOf(service), name: service, logger });
    const [device, auth] = [linkAs("device"), linkAs("auth")];
    const postgres = openPostgres(database.url, { connections: 1 });
    const publisher = startOutboxPublisher({ nats: device, postgres, logger, pollMs: 100 });
    const handled = new Set<string>();
    const consumer = startConsumer({
      nats: auth,
      logger,
      durable: "auth-device-removed",
      concurrency: 50,
      handler: async ({ event }) => void handled.add(event.id),
    });
    const ids: string[] = [];
    let isOver = false;
    const load = (async () => {
      while (!isOver) ids.push(...(await insert()));
    })();
    const killed: string[] = [];
    for (let round = 0; round < KILLS; round++) {
      await replicated();
      const before = handled.size;
      await expect.poll(() => handled.size, { timeout: 30_000 }).toBeGreaterThan(before + 100);
      const leader = (await stream()).cluster!.leader!;
      await cluster.kill(leader);
      const at = handled.size;
      // Two of three servers elect another leader, and the events go on.
      await expect.poll(() => handled.size, { timeout: 60_000 }).toBeGreaterThan(at + 500);
      expect((await stream()).cluster!.leader).not.toBe(leader);
      await cluster.start(leader);
      killed.push(leader);
    }
    isOver = true;
    await load;
    const waiting = async () => (await db.query("SELECT 1 FROM outbox")).rowCount;
    await expect.poll(waiting, { timeout: 30_000 }).toBe(0);
    await expect.poll(() => handled.size, { timeout: 60_000 }).toBe(ids.length);
    expect(ids.filter((id) => !handled.has(id))).toEqual([]);
    expect((await stream()).state.messages).toBe(ids.length);
    console.log(`${ids.length} events; leaders killed: ${killed.join(", ")}`);
    await Promise.all([publisher.close(), consumer.close()]);
    await Promise.all([device.close(), auth.close()]);
    await postgres.close();
  });

  it("flush what they store every 100 ms", async () => {
    for (const url of cluster.monitorUrls) {
      const { config } = (await (await fetch(`${url}/jsz`)).json()) as { config: object };
      expect(config).toMatchObject({ sync_interval: 100_000_000 });
    }
  });

  it("reject a server that has a service's certificate and not the password", { timeout: 60_000 }, async () => {
    await replicated();
    const intruder = await cluster.startIntruder("a-guess");
    const { ca, cert, key } = cluster.tlsOf("operator");
    const tls = { ca: ca.toString(), cert: cert.toString(), key: key.toString() };
    const guest = await connect({ servers: intruder.url, tls });
    await expect.poll(intruder.log, { timeout: 20_000 }).toMatch(/authorization violation/i);
    await expect(guest.jetstreamManager({ timeout: 2_000 })).rejects.toThrow();
    expect((await stream()).cluster!.replicas).toHaveLength(2);
    await guest.close();
  });
});
