import { type AddressInfo, connect, createServer } from "node:net";
import { uuidv4 } from "@countersign/core";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { createLogger, createMetrics } from "@countersign/runtime";
import type { NatsConnection } from "nats";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type ConsumerOptions, startConsumer } from "./index.ts";
import { EVENTS_STREAM } from "./stream.ts";
import { beginNats, type TestNats } from "./testing/nats-server.ts";

const account = "019a0000-0000-7000-8000-000000000001";
const logger = createLogger({ name: "test", level: process.env.CS_LOG_LEVEL ?? "silent" });

let nats: TestNats;
let operator: NatsConnection;
const closers: (() => Promise<void>)[] = [];

/** Publishes events of one subject at once. Returns their ids. */
async function publish(service: string, name: string, count: number): Promise<string[]> {
  const connection = await nats.connectAs(service);
  const ids = Array.from({ length: count }, () => uuidv4());
  const stream = connection.jetstream();
  for (const id of ids) {
    const event = Event.encode(Event.fromPartial({ id, accountId: account })).finish();
    await stream.publish(`cs.v1.${service}.${account}.${name}`, event, { msgID: id });
  }
  await connection.close();
  return ids;
}

/** Returns a proxy to NATS that delays the client's messages and passes answers on at once. */
async function slowWay(delayMs: number): Promise<string> {
  const server = createServer((client) => {
    const upstream = connect(nats.port, "127.0.0.1");
    const late = (act: () => void) => void setTimeout(act, delayMs);
    client.on("data", (data) => late(() => upstream.write(data)));
    client.on("close", () => late(() => upstream.destroy()));
    client.on("error", () => {});
    upstream.on("error", () => {});
    upstream.pipe(client);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  closers.push(() => new Promise((resolve) => void server.close(() => resolve())));
  return `tls://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Starts a consumer with a connection of its own. */
function consume(
  service: string,
  options: Pick<ConsumerOptions, "durable" | "handler" | "concurrency" | "metrics">,
  url?: string,
) {
  const link = nats.linkAs(service, url);
  const consumer = startConsumer({ nats: link, logger, ...options });
  const close = async () => {
    await consumer.close();
    await link.close();
  };
  closers.push(close);
  return { close };
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("durable consumers", () => {
  beforeAll(async () => {
    nats = await beginNats();
    operator = await nats.connectAs("operator");
  });

  afterEach(() => Promise.all(closers.splice(0).map((close) => close())));

  afterAll(() => nats?.end());

  it("count what was handled, failed and dropped, and how much waits", async () => {
    const metrics = createMetrics("key", { defaults: false });
    const [good, bad] = await publish("account", "account-keys-changed", 2);
    const connection = await nats.connectAs("account");
    await connection.jetstream().publish(`cs.v1.account.${account}.account-keys-changed`, new Uint8Array([255]));
    await connection.close();
    let failures = 1;
    const { close } = consume("key", {
      durable: "key-account-keys-changed",
      metrics,
      handler: async ({ event }) => {
        if (event.id === bad && failures-- > 0) throw new Error("for now");
      },
    });
    const line = (name: string, labels: string) =>
      `countersign_consumer_${name}{durable="key-account-keys-changed"${labels},service="key"}`;
    const text = () => metrics.registry.metrics();
    await expect.poll(text).toContain(`${line("events_total", ',outcome="handled"')} 2`);
    expect(good).toBeDefined();
    expect(await text()).toContain(`${line("events_total", ',outcome="failed"')} 1`);
    expect(await text()).toContain(`${line("events_total", ',outcome="dropped"')} 1`);
    expect(await text()).toMatch(/countersign_consumer_event_seconds_count\{.*\} 4/);
    // It was asked when the consumer began, with nothing handled yet.
    expect(await text()).toMatch(/countersign_consumer_pending_events\{.*\} [0-3]\n/);
    await close();
  });

  it("receive each alert once, however slow they are, and no more than they begin", { timeout: 60_000 }, async () => {
    const ids = await publish("account", "chain-alert", 18);
    const attempts: number[] = [];
    const seen: string[] = [];
    let running = 0;
    let most = 0;
    consume("auth", {
      durable: "auth-chain-alerts",
      concurrency: 3,
      handler: async ({ event, attempt }) => {
        running += 1;
        most = Math.max(most, running);
        attempts.push(attempt);
        await sleep(1_500);
        seen.push(event.id);
        running -= 1;
      },
    });
    await expect.poll(() => new Set(seen).size, { timeout: 40_000 }).toBe(ids.length);
    expect(most).toBe(3);
    // Events that were prefetched while others were handled would be delivered again after five seconds.
    expect(attempts).toEqual(ids.map(() => 1));
    const manager = await operator.jetstreamManager();
    const left = async () => {
      const { num_pending, num_ack_pending } = await manager.consumers.info(EVENTS_STREAM, "auth-chain-alerts");
      return num_pending + num_ack_pending;
    };
    await expect.poll(left).toBe(0);
  });

  it("leave to another replica what they do not begin", { timeout: 30_000 }, async () => {
    const release = Promise.withResolvers<void>();
    const seen: string[] = [];
    consume("account", { durable: "account-account-frozen", handler: () => release.promise });
    const [stuck] = await publish("auth", "account-frozen", 1);
    await sleep(1_000);
    consume("account", { durable: "account-account-frozen", handler: async ({ event }) => void seen.push(event.id) });
    const ids = await publish("auth", "account-frozen", 30);
    try {
      // At most one of them reached the first one, before it knew that it was busy.
      await expect.poll(() => ids.filter((id) => seen.includes(id)).length, { timeout: 4_000 }).toBe(ids.length);
      expect(seen).not.toContain(stuck);
    } finally {
      release.resolve();
    }
  });

  it("leave nothing behind when they close, even where NATS learns of it late", { timeout: 30_000 }, async () => {
    const durable = "key-account-keys-changed";
    const manager = await operator.jetstreamManager();
    const leaving = consume("key", { durable, handler: async () => {} }, await slowWay(300));
    const asked = async () => (await manager.consumers.info(EVENTS_STREAM, durable)).num_waiting;
    await expect.poll(asked).toBe(1);
    await leaving.close();
    const ids = await publish("account", "account-keys-changed", 1);
    const seen: string[] = [];
    consume("key", { durable, handler: async ({ event }) => void seen.push(event.id) });
    // An event that was delivered to the closed one would come again after 30 s.
    await expect.poll(() => seen).toEqual(ids);
  });

  it("leave nothing behind when they close just after a fetch request", { timeout: 60_000 }, async () => {
    const durable = "device-push";
    for (let round = 0; round < 5; round++) {
      const closed = Promise.withResolvers<void>();
      // The loop requests the next event before the next turn of the event loop.
      const handler = async () => void setImmediate(() => leaving.close().then(closed.resolve));
      const leaving = consume("device", { durable, handler });
      await publish("device", "two-factor-changed", 1);
      await closed.promise;
      const ids = await publish("device", "two-factor-changed", 1);
      const seen: string[] = [];
      const next = consume("device", { durable, handler: async ({ event }) => void seen.push(event.id) });
      // An event that was delivered to the closed one would come again after 30 s.
      await expect.poll(() => seen).toEqual(ids);
      await next.close();
    }
  });

  it("are fast one by one", { timeout: 30_000 }, async () => {
    const ids = await publish("account", "account-keys-changed", 500);
    const seen: string[] = [];
    const started = performance.now();
    consume("key", { durable: "key-account-keys-changed", handler: async ({ event }) => void seen.push(event.id) });
    await expect.poll(() => seen.length, { timeout: 20_000, interval: 20 }).toBe(ids.length);
    expect(seen).toEqual(ids);
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it("continue after NATS was away, without a delivery that nobody took", { timeout: 60_000 }, async () => {
    const seen = new Map<string, number>();
    consume("device", {
      durable: "device-key-revoked",
      concurrency: 5,
      handler: async ({ event, attempt }) => void seen.set(event.id, attempt),
    });
    const ids = await publish("key", "key-revoked", 3);
    await expect.poll(() => seen.size).toBe(3);
    await operator.close();
    await nats.stop();
    // Longer than a fetch request stays open.
    await sleep(12_000);
    await nats.start();
    operator = await nats.connectAs("operator");
    ids.push(...(await publish("key", "key-revoked", 20)));
    await expect.poll(() => [...seen]).toEqual(ids.map((id) => [id, 1]));
  });
});
