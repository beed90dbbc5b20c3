import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { createLogger, loadTls, type TlsMaterial, uuidv4 } from "@countersign/service-kit";
import { connect, type NatsConnection } from "nats";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { ensureCertificates, tlsFiles } from "../../../dev/src/certificates.ts";
import type { Child } from "../../../dev/src/child.ts";
import { startNats } from "../../../dev/src/nats.ts";
import { cacheDir } from "../../../dev/src/paths.ts";
import { freePort } from "../../../dev/src/ports.ts";
import { EVENTS_STREAM, type EventFeed, type FedEvent, startEventFeed } from "./index.ts";

const binary = process.env.CS_NATS_SERVER ?? join(cacheDir(), "bin/nats-server-v2.15.2");
const logger = createLogger({ name: "test", level: process.env.CS_LOG_LEVEL ?? "silent" });
const account = "019a0000-0000-7000-8000-000000000001";
const other = "019a0000-0000-7000-8000-000000000002";

let stateDir: string;
let port: number;
let nats: Child;
let publisher: NatsConnection;
let operator: NatsConnection;
const feeds: EventFeed[] = [];

const tlsOf = (name: string): TlsMaterial => loadTls(tlsFiles(stateDir, name));

async function startServer(): Promise<void> {
  nats = await startNats({ binary, stateDir, port, logFile: join(stateDir, "nats.log") });
}

function connectAs(name: string): Promise<NatsConnection> {
  const { ca, cert, key } = tlsOf(name);
  return connect({
    servers: `tls://127.0.0.1:${port}`,
    tls: { ca: ca.toString(), cert: cert.toString(), key: key.toString() },
    maxReconnectAttempts: -1,
    reconnectTimeWait: 200,
  });
}

async function publish(accountId = account): Promise<number> {
  const event = Event.encode(Event.fromPartial({ id: uuidv4(), accountId, deviceUpdated: { deviceId: "d" } })).finish();
  const answer = await publisher.jetstream().publish(`cs.v1.device.${accountId}.device-updated`, event);
  return answer.seq;
}

async function startFeed() {
  const seen: FedEvent[] = [];
  const breaks: number[] = [];
  const feed = startEventFeed({
    natsUrl: `tls://127.0.0.1:${port}`,
    tls: tlsOf("device"),
    logger,
    name: "device-feed",
    onEvent: (event) => void seen.push(event),
    onBreak: () => void breaks.push(seen.length),
  });
  feeds.push(feed);
  await vi.waitFor(() => expect(feed.position()).toBeDefined(), { timeout: 5_000, interval: 20 });
  return { feed, breaks, sequences: () => seen.map(({ sequence }) => sequence), seen };
}

describe.skipIf(!existsSync(binary))("the feed of all events", () => {
  beforeAll(async () => {
    stateDir = mkdtempSync(join(tmpdir(), "countersign-feed-"));
    await ensureCertificates(stateDir);
    port = await freePort();
    await startServer();
    publisher = await connectAs("device");
    operator = await connectAs("operator");
    await (await startFeed()).feed.close();
  });

  afterAll(async () => {
    await publisher?.close();
    await operator?.close();
    await nats?.stop();
    rmSync(stateDir, { recursive: true, force: true });
  });

  beforeEach(() => publish());
  afterEach(() => Promise.all(feeds.splice(0).map((feed) => feed.close())));

  test("hands out what comes after its start, in order, to every process", async () => {
    const [one, two] = await Promise.all([startFeed(), startFeed()]);
    const expected: number[] = [];
    for (let count = 0; count < 200; count += 1) expected.push(await publish());
    for (const { sequences, feed } of [one, two]) {
      await expect.poll(sequences, { timeout: 5_000 }).toEqual(expected);
      expect(feed.position()).toBe(expected.at(-1));
    }
    expect(one.seen[0]!.decode().accountId).toBe(account);
  });

  test("is quick", async () => {
    const { sequences } = await startFeed();
    const started = performance.now();
    const sequence = await publish();
    await expect.poll(sequences, { interval: 1 }).toEqual([sequence]);
    expect(performance.now() - started).toBeLessThan(100);
  });

  test("goes on without a gap where NATS was away", async () => {
    const { sequences } = await startFeed();
    const expected = [await publish()];
    await expect.poll(sequences).toEqual(expected);
    await nats.stop();
    await startServer();
    // The test's own connection has its own way back.
    await publisher.close();
    publisher = await connectAs("device");
    for (let count = 0; count < 20; count += 1) expected.push(await publish());
    await expect.poll(sequences, { timeout: 15_000 }).toEqual(expected);
  });

  test("goes on without a gap where what NATS publishes again is lost", async () => {
    const { sequences } = await startFeed();
    const expected = [await publish()];
    await expect.poll(sequences).toEqual(expected);
    const manager = await operator.jetstreamManager();
    const { config } = await manager.streams.info(EVENTS_STREAM);
    const { republish, ...silent } = config;
    await manager.streams.update(EVENTS_STREAM, silent);
    expected.push(await publish(), await publish());
    // The stream is asked now and then whether something came that was not heard.
    await expect.poll(sequences, { timeout: 15_000 }).toEqual(expected);
    expected.push(await publish());
    await manager.streams.update(EVENTS_STREAM, { ...silent, ...(republish === undefined ? {} : { republish }) });
    expected.push(await publish());
    await expect.poll(sequences, { timeout: 15_000 }).toEqual(expected);
  });

  test("reads one account's past event by event, from a sequence or a time on", async () => {
    const { feed } = await startFeed();
    const first = await publish();
    await publish(other);
    const second = await publish();
    const subject = `cs.v1.*.${account}.*`;
    expect(await feed.next(subject, first)).toMatchObject({ sequence: first, event: { accountId: account } });
    const stored = await feed.next(subject, first + 1);
    expect(stored).toMatchObject({ sequence: second, subject: `cs.v1.device.${account}.device-updated` });
    expect(Math.abs(stored!.storedAt.getTime() - Date.now())).toBeLessThan(5_000);
    expect(await feed.next(subject, stored!.storedAt)).toMatchObject({ sequence: second });
    expect(await feed.next(subject, second + 1)).toBeUndefined();
    expect(await feed.next(subject, new Date(Date.now() + 60_000))).toBeUndefined();
    expect(await feed.bounds()).toMatchObject({ first: 1, last: second });
  });

  test("tells where the stream began anew", async () => {
    const { feed, breaks, sequences } = await startFeed();
    const manager = await operator.jetstreamManager();
    const { config } = await manager.streams.info(EVENTS_STREAM);
    await manager.streams.delete(EVENTS_STREAM);
    await manager.streams.add(config);
    await expect.poll(() => breaks, { timeout: 15_000 }).toEqual([0]);
    await expect.poll(() => feed.position()).toBe(0);
    const sequence = await publish();
    await expect.poll(sequences, { timeout: 5_000 }).toEqual([sequence]);
    expect(sequence).toBe(1);
  });
});
