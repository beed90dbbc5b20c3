import dns from "node:dns";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { systemClock, unchanging, uuidv7 } from "@countersign/core";
import { tlsFiles } from "@countersign/local-stack/certificates.ts";
import { startChild } from "@countersign/local-stack/child.ts";
import { freePort } from "@countersign/local-stack/ports.ts";
import { createTestDatabase, type TestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { createLogger, createServiceRuntime, startService } from "@countersign/runtime";
import pg from "pg";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { EVENTS_STREAM } from "./stream.ts";
import { beginNats, type TestNats } from "./testing/nats-server.ts";

const accountId = "019a0000-0000-7000-8000-000000000001";
const revoked = `cs.v1.key.${accountId}.key-revoked`;
const updated = `cs.v1.device.${accountId}.device-updated`;

let nats: TestNats;
let monitorPort: number;
let database: TestDatabase;
let db: pg.Client;

beforeAll(async () => {
  monitorPort = await freePort();
  const settings = { NATS_MONITOR: `127.0.0.1:${monitorPort}` };
  nats = await beginNats({ startChild: (child) => startChild({ ...child, env: { ...child.env, ...settings } }) });
  database = await createTestDatabase("device");
  db = new pg.Client({ connectionString: database.url });
  await db.connect();
});

afterAll(async () => {
  await db?.end();
  await database?.drop();
  await nats?.end();
});

/** Returns the connections of the service device that the server counts. */
async function connections(): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${monitorPort}/connz?acc=DEVICE`);
  return ((await answer.json()) as { connections: unknown[] }).connections.length;
}

class NoPrisma {
  $queryRaw = async () => [];
  $disconnect = async () => {};
}

/** Starts a process of the service device with the outbox and all consumers; counts the revoked keys. */
async function startDevice(databaseUrl = database.url) {
  const handled: string[] = [];
  const running = await startService({
    name: "device",
    env: { CS_DRAIN_MS: "0" },
    logger: createLogger({ name: "test", level: process.env.CS_LOG_LEVEL ?? "silent" }),
    async start(service) {
      const runtime = createServiceRuntime(service, {
        listen: "127.0.0.1:0",
        natsUrl: nats.url,
        peersFile: join(root, "deploy/peers.json"),
        issuer: "https://issuer.example",
        tls: tlsFiles(nats.stateDir, "device"),
        addresses: {},
        secrets: { databaseUrl: unchanging(databaseUrl) },
      });
      await runtime.database(NoPrisma);
      runtime.consume({ durable: "device-key-revoked", handler: async ({ event }) => void handled.push(event.id) });
      runtime.consume({ durable: "device-notices", handler: async () => {} });
      runtime.consume({ durable: "device-push", handler: async () => {} });
    },
  });
  return { handled, stop: running.stop };
}

/** Emits one event of another service and one of this one. Returns the first one's id. */
async function emit(): Promise<string> {
  const id = uuidv7(systemClock);
  const key = await nats.connectAs("key");
  await key.jetstream().publish(revoked, Event.encode(Event.fromPartial({ id, accountId })).finish());
  await db.query("INSERT INTO outbox (id, subject, payload) VALUES ($1, $2, '')", [uuidv7(systemClock), updated]);
  return id;
}

it("the outbox and all consumers of a process share one connection, also after NATS was away", {
  timeout: 60_000,
}, async () => {
  const device = await startDevice();
  const ids: string[] = [];
  for (const round of ["at the start", "after NATS was away"]) {
    if (round !== "at the start") {
      await nats.stop();
      await nats.start();
    }
    ids.push(await emit());
    await expect.poll(() => device.handled, { timeout: 20_000, message: round }).toEqual(ids);
    await expect.poll(async () => (await db.query("SELECT 1 FROM outbox")).rowCount, { timeout: 20_000 }).toBe(0);
    expect(await connections(), round).toBe(1);
  }
  const manager = await (await nats.connectAs("operator")).jetstreamManager();
  const { state } = await manager.streams.info(EVENTS_STREAM, { subjects_filter: "cs.v1.device.>" });
  expect(state.subjects).toEqual({ [updated]: 2 });
  expect(await device.stop()).toBe(true);
  await expect.poll(connections).toBe(0);
});

it.each([
  ["postgresql://x@127.0.0.1:1/none", "DEVICE_DATABASE_URL: connect ECONNREFUSED 127.0.0.1:1"],
  [() => database.url.replace(/[^/]*$/, "none"), 'DEVICE_DATABASE_URL: database "none" does not exist'],
])("a start without a database names the setting: %s", async (url, message) => {
  await expect(startDevice(typeof url === "string" ? url : url())).rejects.toThrow(message);
});

it("a start without a database says why also where its name has several addresses", async () => {
  const addresses = [1, 2].map((last) => ({ address: `127.0.0.${last}`, family: 4 }));
  const find = (_host: string, _options: object, done: (error: null, found: object[]) => void) => done(null, addresses);
  const lookup = vi.spyOn(dns, "lookup").mockImplementation(find as never);
  await expect(startDevice("postgresql://x@two.test:1/none")).rejects.toThrow("DEVICE_DATABASE_URL: ECONNREFUSED");
  lookup.mockRestore();
});

it("a process stops at once while NATS is away, which it reached or not", { timeout: 30_000 }, async () => {
  const connected = await startDevice();
  // A consumer that begins asks NATS for itself, which may take 5 s while NATS goes away.
  const manager = await (await nats.connectAs("operator")).jetstreamManager();
  const durables = ["device-key-revoked", "device-notices", "device-push"];
  const fetching = async () => {
    const all = await Promise.all(durables.map((durable) => manager.consumers.info(EVENTS_STREAM, durable)));
    return all.map(({ num_waiting }) => num_waiting);
  };
  await expect.poll(fetching).toEqual([1, 1, 1]);
  await nats.stop();
  for (const device of [connected, await startDevice()]) {
    const started = performance.now();
    expect(await device.stop()).toBe(true);
    expect(performance.now() - started).toBeLessThan(2_000);
  }
  await nats.start();
});
