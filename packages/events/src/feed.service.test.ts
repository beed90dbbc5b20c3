import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { connect as connectTls } from "node:tls";
import { uuidv4 } from "@countersign/core";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { createLogger } from "@countersign/runtime";
import { headers, type NatsConnection } from "nats";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { startEventFeed } from "./feed.ts";
import type { EventFeed, FedEvent } from "./index.ts";
import { EVENTS_STREAM, UNPARTITIONED } from "./stream.ts";
import { beginNats, LASTING, type TestNats } from "./testing/nats-server.ts";

const logger = createLogger({ name: "test", level: process.env.CS_LOG_LEVEL ?? "silent" });
const account = "019a0000-0000-7000-8000-000000000001";
const other = "019a0000-0000-7000-8000-000000000002";

let nats: TestNats;
let publisher: NatsConnection;
let operator: NatsConnection;
const closers: (() => Promise<void>)[] = [];
const closeAll = () => Promise.all(closers.splice(0).map((close) => close()));

async function publish(accountId = account, lies: Record<string, string> = {}): Promise<number> {
  const written = headers();
  for (const [name, value] of Object.entries(lies)) written.append(name, value);
  const event = Event.encode(Event.fromPartial({ id: uuidv4(), accountId, deviceUpdated: { deviceId: "d" } })).finish();
  const answer = await publisher
    .jetstream()
    .publish(`cs.v1.device.${accountId}.device-updated`, event, { headers: written });
  return answer.seq;
}

async function startFeed() {
  const seen: FedEvent[] = [];
  const breaks: number[] = [];
  const link = nats.linkAs("device");
  const feed: EventFeed = startEventFeed({
    nats: link,
    logger,
    onEvent: (event) => void seen.push(event),
    onBreak: () => void breaks.push(seen.length),
  });
  closers.push(async () => {
    await feed.close();
    await link.close();
  });
  await vi.waitFor(() => expect(feed.position()).toBeDefined(), { timeout: 5_000, interval: 20 });
  return { feed, breaks, sequences: () => seen.map(({ sequence }) => sequence), seen };
}

describe("the feed of all events", () => {
  beforeAll(async () => {
    nats = await beginNats();
    publisher = await nats.connectAs("device", LASTING);
    operator = await nats.connectAs("operator", LASTING);
    await startFeed();
    await closeAll();
  });

  afterAll(() => nats?.end());

  beforeEach(() => publish());
  afterEach(closeAll);

  test("hands out what comes after its start, in order, to every process", async () => {
    const [one, two] = await Promise.all([startFeed(), startFeed()]);
    const expected: number[] = [];
    for (let count = 0; count < 200; count += 1) expected.push(await publish());
    for (const { sequences, feed } of [one, two]) {
      await expect.poll(sequences).toEqual(expected);
      expect(feed.position()).toBe(expected.at(-1));
    }
    expect(one.seen[0]!.decode().accountId).toBe(account);
  });

  test("goes on without a gap where NATS was away", async () => {
    const { sequences } = await startFeed();
    const expected = [await publish()];
    await expect.poll(sequences).toEqual(expected);
    await nats.stop();
    await nats.start();
    // The test's own connection reconnects in its own time.
    await publisher.close();
    publisher = await nats.connectAs("device", LASTING);
    for (let count = 0; count < 20; count += 1) expected.push(await publish());
    await expect.poll(sequences).toEqual(expected);
  });

  test("reads while NATS reads its configuration again, as for each new certificate", async () => {
    const { feed } = await startFeed();
    let reloads = 0;
    const readAll = async () => {
      while (reloads < 40) await feed.bounds();
    };
    const readers = Promise.all(Array.from({ length: 8 }, readAll));
    for (; reloads < 40; reloads += 1) {
      process.kill(nats.pid(), "SIGHUP");
      await Promise.all(Array.from({ length: 20 }, () => feed.bounds()));
    }
    await readers;
  });

  test("continues without a gap where a republished message is lost", async () => {
    const { sequences } = await startFeed();
    const expected = [await publish()];
    await expect.poll(sequences).toEqual(expected);
    const manager = await operator.jetstreamManager();
    const { config } = await manager.streams.info(EVENTS_STREAM);
    const { republish, ...silent } = config;
    await manager.streams.update(EVENTS_STREAM, silent);
    expected.push(await publish(), await publish());
    // The feed asks the stream periodically for events that it has not received.
    await expect.poll(sequences).toEqual(expected);
    expected.push(await publish());
    await manager.streams.update(EVENTS_STREAM, { ...silent, ...(republish === undefined ? {} : { republish }) });
    expected.push(await publish());
    await expect.poll(sequences).toEqual(expected);
  });

  test("reads one account's past event by event, from a sequence or a time on", async () => {
    const { feed } = await startFeed();
    const first = await publish();
    await publish(other);
    const subject = `cs.v1.*.${account}.*`;
    const before = await feed.next(subject, first);
    expect(before).toMatchObject({ sequence: first, event: { accountId: account } });
    // Times are exact to the millisecond.
    await expect.poll(() => Date.now(), { interval: 1 }).toBeGreaterThan(before!.storedAt.getTime());
    const second = await publish();
    const stored = await feed.next(subject, first + 1);
    expect(stored).toMatchObject({ sequence: second, subject: `cs.v1.device.${account}.device-updated` });
    expect(Math.abs(stored!.storedAt.getTime() - Date.now())).toBeLessThan(5_000);
    expect(await feed.next(subject, stored!.storedAt)).toMatchObject({ sequence: second });
    expect(await feed.next(subject, second + 1)).toBeUndefined();
    expect(await feed.next(subject, new Date(Date.now() + 60_000))).toBeUndefined();
    expect(await feed.bounds()).toMatchObject({ first: 1, last: second });
  });

  describe("a compromised service", () => {
    const victims = `cs.v1.auth.${other}.session-ended`;
    const forged: [string, Record<string, string>][] = [
      ["subject", { "Nats-Subject": victims }],
      ["subject, in small letters", { "nats-subject": victims }],
      ["place far ahead", { "Nats-Sequence": String(Number.MAX_SAFE_INTEGER) }],
      ["place far back", { "Nats-Sequence": "1" }],
      ["place, in other letters", { "nats-sequence": "1", "NATS-SEQUENCE": "9007199254740991" }],
      ["stream and time", { "Nats-Stream": "OTHER", "Nats-Time-Stamp": "x", "Nats-Last-Sequence": "9" }],
      ["everything", { "Nats-Stream": "OTHER", "Nats-Subject": victims, "Nats-Sequence": "9007199254740991" }],
    ];

    test.each(forged)("forges no %s", async (_, lies) => {
      const { sequences, breaks, seen } = await startFeed();
      const expected = [await publish()];
      expected.push(await publish(account, lies));
      expected.push(await publish());
      await expect.poll(sequences).toEqual(expected);
      expect(seen.map(({ subject }) => subject)).toEqual(expected.map(() => `cs.v1.device.${account}.device-updated`));
      expect(breaks).toEqual([]);
    });

    /** Publishes raw bytes, below any client library. */
    async function publishRaw(head: string, body: string): Promise<void> {
      const { ca, cert, key } = nats.tlsOf("device");
      const plain = connectTcp({ port: nats.port, host: "127.0.0.1" });
      await once(plain, "data");
      const socket = connectTls({ socket: plain, ca, cert, key, checkServerIdentity: () => undefined });
      await once(socket, "secureConnect");
      const subject = `cs.v1.device.${account}.device-updated`;
      socket.write(`CONNECT ${JSON.stringify({ verbose: false, pedantic: false, headers: true })}\r\n`);
      socket.write(
        `HPUB ${subject} ${head.length} ${head.length + body.length}\r\n${head}${body}\r\nPING\r\n`,
        "latin1",
      );
      let received = "";
      for await (const chunk of socket) {
        received += String(chunk);
        if (received.includes("PONG")) break;
      }
      expect(received).not.toContain("-ERR");
      socket.destroy();
    }

    const END = "\r\n\r\n";
    test.each([
      ["a name with a space", `NATS/1.0\r\nno name: x${END}`],
      ["no end of the last line", "NATS/1.0\r\nNats-Sequence: 900\r\nX: yy"],
      ["an end in the middle", `NATS/1.0\r\nNats-Sequence: 900${END}Nats-Sequence: 901${END}`],
      ["a state", `NATS/1.0 409 Consumer Deleted${END}`],
    ])("stops and resets nothing by headers with %s, nor by bytes that are no event", async (_, head) => {
      const { sequences, breaks, seen } = await startFeed();
      const first = await publish();
      await publishRaw(head, "\xff\xff no event");
      await expect
        .poll(async () =>
          (await operator.jetstreamManager()).streams.info(EVENTS_STREAM).then(({ state }) => state.last_seq),
        )
        .toBe(first + 1);
      const last = await publish();
      expect(last).toBe(first + 2);
      await expect.poll(sequences).toEqual([first, first + 1, last]);
      expect(breaks).toEqual([]);
      expect(seen.at(-1)!.decode().accountId).toBe(account);
    });

    test("cannot stop the reading of the past with bytes that are no event", async () => {
      const { feed } = await startFeed();
      const first = await publish();
      const { seq } = await publisher.jetstream().publish(`cs.v1.device.${account}.device-updated`, "\xff\xff");
      expect(await feed.next("cs.v1.>", first + 1)).toMatchObject({ sequence: seq, event: { accountId: "" } });
    });
  });

  test("does not restart where the stream grows while it is asked for its end", async () => {
    const prototype = Object.getPrototypeOf(publisher) as NatsConnection;
    const subscribed = vi.spyOn(prototype, "subscribe");
    const { request } = prototype;
    let grown = 0;
    try {
      const { sequences } = await startFeed();
      vi.spyOn(prototype, "request").mockImplementation(async function (this: NatsConnection, ...asked) {
        const answer = await request.apply(this, asked);
        if (!asked[0].includes("STREAM.INFO")) return answer;
        grown = await publish();
        await expect.poll(() => sequences().at(-1), { timeout: 5_000, interval: 5 }).toBe(grown);
        return answer;
      });
      await expect.poll(() => grown).toBeGreaterThan(0);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      expect(subscribed.mock.calls.filter(([subject]) => subject === UNPARTITIONED.feed)).toHaveLength(1);
    } finally {
      vi.restoreAllMocks();
    }
  });

  test("reports that the stream started again", async () => {
    const { feed, breaks, sequences } = await startFeed();
    const manager = await operator.jetstreamManager();
    const { config } = await manager.streams.info(EVENTS_STREAM);
    await manager.streams.delete(EVENTS_STREAM);
    await manager.streams.add(config);
    await expect.poll(() => breaks).toEqual([0]);
    await expect.poll(() => feed.position()).toBe(0);
    const sequence = await publish();
    await expect.poll(sequences).toEqual([sequence]);
    expect(sequence).toBe(1);
  });
});
