import { cpSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { type Logger, systemClock, uuidv4, uuidv7 } from "@countersign/core";
import { startChild } from "@countersign/local-stack/child.ts";
import { createTestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { openPostgres, sql } from "@countersign/postgres";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { createLogger } from "@countersign/runtime";
import type { JetStreamManager, NatsConnection } from "nats";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startEventFeeds } from "./feed.ts";
import {
  type ConsumerOptions,
  type DeliveredEvent,
  EVENTS_STREAM,
  outboxRow,
  setUpEvents,
  startConsumer,
  startOutboxPublisher,
} from "./index.ts";
import { natsAccountsFile } from "./nats-accounts.ts";
import { exportEvents, listEventStreams } from "./set-up.ts";
import { partitionOf, partitionStreams } from "./stream.ts";
import { beginNats, LASTING, type TestNats } from "./testing/nats-server.ts";

const PARTITIONS = 4;
const NAMES = partitionStreams(PARTITIONS).map(({ name }) => name);
/** Above the numbers of the stream from before. */
const FIRST = 1_000_000_000;
const durable = "auth-chain-alerts";
const logger = createLogger({ name: "test", level: process.env.CS_LOG_LEVEL ?? "silent" });
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const closers: (() => Promise<void>)[] = [];
const closeAll = () => Promise.all(closers.splice(0).map((close) => close()));
afterEach(closeAll);

/** Starts a replica of auth. */
function consume(
  nats: TestNats,
  handler: (delivered: DeliveredEvent) => Promise<void>,
  options: Pick<ConsumerOptions, "concurrency" | "measureMs"> = {},
): void {
  const link = nats.linkAs("auth");
  const consumer = startConsumer({ nats: link, logger, durable, handler, ...options });
  closers.push(() => consumer.close().then(() => link.close()));
}

/** Follows the events as device does; returns what it saw. */
function follow(nats: TestNats, log = logger) {
  const link = nats.linkAs("device");
  const seen: string[] = [];
  const feeds = startEventFeeds({
    nats: link,
    logger: log,
    onEvent: ({ sequence, subject }) => void seen.push(`${sequence} ${subject}`),
    onBreak: () => void seen.push("break"),
  });
  closers.push(() => feeds.close().then(() => link.close()));
  return { feeds, seen };
}

/** Returns a logger, and the errors that it was given. */
function listen() {
  const errors: string[] = [];
  const nothing = () => undefined;
  const listening = { child: () => listening, error: (text: string) => void errors.push(text), warn: nothing };
  return { errors, logger: listening as unknown as Logger };
}

const subjectOf = (accountId: string) => `cs.v1.account.${accountId}.chain-alert`;

function publish(connection: NatsConnection, accountId: string, id = uuidv4()) {
  const event = Event.encode(Event.fromPartial({ id, accountId })).finish();
  return connection.jetstream({ timeout: 1_000 }).publish(subjectOf(accountId), event, { msgID: id });
}

/** Returns an account of a partition. */
function accountIn(partition: number): string {
  for (;;) {
    const accountId = uuidv4();
    if (partitionOf(accountId, PARTITIONS) === partition) return accountId;
  }
}

describe("events in partitions", () => {
  let nats: TestNats;
  let emitter: NatsConnection;
  let manager: JetStreamManager;
  beforeAll(async () => {
    nats = await beginNats({ partitions: PARTITIONS });
    emitter = await nats.connectAs("account");
    manager = await (await nats.connectAs("operator")).jetstreamManager();
  });
  afterAll(() => nats?.end());

  it("are in their account's stream with their subject, and two replicas get each once", async () => {
    const seen: string[] = [];
    const takers = new Set<number>();
    const accounts = Array.from({ length: 200 }, () => uuidv4());
    const published = await Promise.all(accounts.map((accountId) => publish(emitter, accountId)));
    expect(published.map(({ stream }) => stream)).toEqual(accounts.map((id) => NAMES[partitionOf(id, PARTITIONS)]));
    for (const [index, { stream, seq }] of published.entries()) {
      expect((await manager.streams.getMessage(stream, { seq })).subject).toBe(subjectOf(accounts[index]!));
    }
    for (const replica of [1, 2]) {
      const handler = async ({ event, subject }: DeliveredEvent) => {
        expect(subject).toBe(subjectOf(event.accountId));
        takers.add(replica);
        seen.push(event.accountId);
        await sleep(5);
      };
      consume(nats, handler, { concurrency: 3 });
    }
    await expect.poll(() => seen.length, { timeout: 20_000 }).toBe(accounts.length);
    await closeAll();
    expect(seen.sort()).toEqual(accounts.sort());
    expect(takers.size).toBe(2);
    for (const stream of [EVENTS_STREAM, ...NAMES]) {
      const { num_pending, num_ack_pending } = await manager.consumers.info(stream, durable);
      expect({ stream, num_pending, num_ack_pending }).toEqual({ stream, num_pending: 0, num_ack_pending: 0 });
    }
    expect((await manager.streams.info(EVENTS_STREAM)).state.messages).toBe(0);
  });

  it("of one account come in their order to one replica that handles one at a time", async () => {
    const accounts = Array.from({ length: PARTITIONS }, (_, partition) => accountIn(partition));
    const sent = new Map<string, string[]>(accounts.map((accountId) => [accountId, []]));
    for (let count = 0; count < 40; count += 1) {
      for (const accountId of accounts) {
        const id = uuidv4();
        sent.get(accountId)!.push(id);
        await publish(emitter, accountId, id);
      }
    }
    const got = new Map<string, string[]>(accounts.map((accountId) => [accountId, []]));
    consume(nats, async ({ event }) => void got.get(event.accountId)?.push(event.id));
    await expect.poll(() => got, { timeout: 20_000 }).toEqual(sent);
  });

  it.each([
    [1, PARTITIONS],
    [8, 8],
  ])("are handled at once as one stream's are, and one of each at least: %i", async (concurrency, expected) => {
    for (let partition = 0; partition < PARTITIONS; partition += 1) {
      for (let count = 0; count < 5; count += 1) await publish(emitter, accountIn(partition));
    }
    let begun = 0;
    const release = Promise.withResolvers<void>();
    const handler = () => {
      begun += 1;
      return release.promise;
    };
    consume(nats, handler, { concurrency });
    await expect.poll(() => begun).toBe(expected);
    await sleep(300);
    expect(begun).toBe(expected);
    release.resolve();
    await expect.poll(() => begun, { timeout: 10_000 }).toBe(5 * PARTITIONS);
  });

  it("are stored once where they are published again", async () => {
    const accountId = accountIn(2);
    const id = uuidv4();
    const first = await publish(emitter, accountId, id);
    expect(first).toMatchObject({ stream: NAMES[2], duplicate: false });
    expect(await publish(emitter, accountId, id)).toMatchObject({ stream: NAMES[2], seq: first.seq, duplicate: true });
    const subjects_filter = subjectOf(accountId);
    const { state } = await manager.streams.info(NAMES[2]!, { subjects_filter });
    expect(state.subjects).toEqual({ [subjects_filter]: 1 });
  });

  it("are followed by partition, and read from an id within it", async () => {
    const [one, other] = [accountIn(1), accountIn(3)];
    const { feeds, seen } = follow(nats);
    const ready = () => [one, other].every((accountId) => feeds.of(accountId).position() !== undefined);
    await expect.poll(ready).toBe(true);
    expect(feeds.of(one)).not.toBe(feeds.of(other));
    // Of the feed of CS_EVENTS: devices that begin earlier have no position yet.
    const expected = ["break"];
    const sequences: number[] = [];
    for (const accountId of [one, other, one, other]) {
      const { seq } = await publish(emitter, accountId);
      sequences.push(seq);
      expected.push(`${seq} ${subjectOf(accountId)}`);
      await expect.poll(() => seen).toEqual(expected);
      expect(feeds.of(accountId).position()).toBe(seq);
    }
    const [first, , third] = sequences as [number, number, number];
    const subject = `cs.v1.*.${one}.*`;
    expect(await feeds.of(one).next(subject, first + 1)).toMatchObject({ sequence: third, subject: subjectOf(one) });
    expect(await feeds.of(one).next(subject, third + 1)).toBeUndefined();
    expect(await feeds.of(other).next(subject, first)).toBeUndefined();
    // An id from before the partitions is below what the stream has: the client gets `stream.reset`.
    expect((await feeds.of(one).bounds()).first).toBe(FIRST);
  });

  it("with a wildcard as account are not republished, not exported, and purged by the partition's subject", async () => {
    const since = new Date();
    const { stream } = await emitter.jetstream().publish("cs.v1.account.*.flood", "x");
    const accountId = accountIn(1);
    await publish(emitter, accountId);
    const exported = await exportEvents(nats.url, nats.tlsOf("operator"), since);
    expect(exported.map(({ subject }) => subject)).toEqual([subjectOf(accountId)]);
    const filter = `cs.partition.${NAMES.indexOf(stream)}.v1.account.>`;
    expect(await manager.streams.purge(stream, { filter })).toMatchObject({ purged: 1 });
  });

  it.each([1, 600])(
    "are published while %i wait for a partition that takes none",
    { timeout: 60_000 },
    async (waiting) => {
      const operator = await nats.connectAs("operator");
      const database = await createTestDatabase("account");
      const postgres = openPostgres(database.url, { connections: 2, applicationName: "outbox" });
      const emit = async (accountIds: readonly string[]) => {
        const rows = accountIds.map((accountId) => {
          const id = uuidv7(systemClock);
          const message = Event.encode(Event.fromPartial({ id, accountId })).finish();
          return outboxRow({ service: "account", accountId, event: "chain-alert", message, id, createdAt: new Date() });
        });
        await postgres.execute(sql`
        INSERT INTO outbox (id, subject, payload, created_at, account_id)
        SELECT * FROM unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ subject }) => subject)}::text[],
          ${rows.map(({ payload }) => Buffer.from(payload))}::bytea[], ${rows.map(({ createdAt }) => createdAt)}::timestamptz[],
          ${accountIds}::uuid[])`);
      };
      const left = async () => (await postgres.query<{ n: number }>(sql`SELECT count(*)::int AS n FROM outbox`))[0]!.n;
      await manager.streams.delete(NAMES[0]!);
      await emit(Array.from({ length: waiting }, () => accountIn(0)));
      const link = nats.linkAs("account");
      const publisher = startOutboxPublisher({ nats: link, postgres, logger });
      closers.push(async () => {
        await publisher.close();
        await link.close();
        await postgres.close();
        await database.drop();
      });
      // Until all that wait have failed once.
      await sleep(3_000);
      for (let count = 0; count < 5; count += 1) {
        await emit([accountIn(1)]);
        await expect.poll(left, { timeout: 3_000 }).toBe(waiting);
      }
      await setUpEvents(operator, { partitions: PARTITIONS });
      await expect.poll(left, { timeout: 20_000 }).toBe(0);
    },
  );

  it("are not exported where a partition was lost, also where the set-up has created it again", async () => {
    const operator = await nats.connectAs("operator");
    const since = new Date(Date.now() - 120_000);
    const exported = () => exportEvents(nats.url, nats.tlsOf("operator"), since);
    await manager.streams.delete(NAMES[2]!);
    await expect(exported()).rejects.toThrow("CS_EVENTS_2 is missing");
    await setUpEvents(operator, { partitions: PARTITIONS });
    // Numbers that clients may have are not used again.
    const { state } = await manager.streams.info(NAMES[2]!);
    expect(state.first_seq).toBeGreaterThanOrEqual(2 * FIRST);
  });

  it("stay at their number of partitions; a set-up that was interrupted continues", async () => {
    const operator = await nats.connectAs("operator");
    for (const partitions of [1, 2, 8])
      await expect(setUpEvents(operator, { partitions })).rejects.toThrow("NATS has events in 4 partitions");
    await manager.streams.delete(NAMES[3]!);
    await expect(setUpEvents(operator, { partitions: 1 })).rejects.toThrow("NATS has events in 4 partitions");
    await setUpEvents(operator, { partitions: PARTITIONS });
    expect(await listEventStreams(manager)).toEqual([EVENTS_STREAM, ...NAMES]);
    expect((await manager.consumers.info(NAMES[3]!, durable)).num_pending).toBe(0);
  });
});

describe("a change from one stream to partitions", () => {
  let nats: TestNats;
  let folder: string;
  // Its accounts can be changed.
  beforeEach(async () => {
    nats = await beginNats({
      startChild: (child) => {
        folder = join(dirname(child.logFile), "config");
        cpSync(join(root, "deploy/nats"), folder, { recursive: true });
        return startChild({ ...child, args: ["-c", join(folder, "server.conf")] });
      },
    });
  });
  afterEach(() => nats?.end());

  const changeAccounts = (partitions: number) => {
    writeFileSync(join(folder, "accounts.conf"), natsAccountsFile("a test", partitions));
    process.kill(nats.pid(), "SIGHUP");
  };

  it("with another number in accounts.conf than at the set-up is an error in device's log", async () => {
    const operator = await nats.connectAs("operator", LASTING);
    const emitter = await nats.connectAs("account", LASTING);
    await setUpEvents(operator, { partitions: PARTITIONS });
    changeAccounts(3);
    const { errors, logger } = listen();
    const { feeds } = follow(nats, logger);
    const accountIds = Array.from({ length: 20 }, () => uuidv4());
    const found = () => accountIds.some((accountId) => feeds.of(accountId).position() !== undefined);
    await expect.poll(found, { timeout: 20_000 }).toBe(true);
    const sendAll = () => Promise.all(accountIds.map((accountId) => publish(emitter, accountId).catch(() => 0)));
    const afterSent = () => sendAll().then(() => errors);
    const message = "devices miss events: accounts.conf of NATS has another number of partitions than the set-up";
    await expect.poll(afterSent, { timeout: 20_000 }).toEqual([message]);
  });

  const orders = [
    ["set-up", "accounts"],
    // Events then wait in the outboxes.
    ["accounts", "set-up"],
  ] as const;
  it.each(orders)("loses no event and repeats none: %s, %s", { timeout: 60_000 }, async (...order) => {
    const operator = await nats.connectAs("operator", LASTING);
    const emitter = await nats.connectAs("account", LASTING);
    const accounts = Array.from({ length: 50 }, () => uuidv4());
    const sent: string[] = [];
    const streams: string[] = [];
    const emit = async () => {
      const id = uuidv4();
      const accountId = accounts[sent.length % accounts.length]!;
      sent.push(id);
      // As the outbox does: again with the same id until NATS has acknowledged it.
      for (;;) {
        const answer = await publish(emitter, accountId, id).catch(() => undefined);
        if (answer !== undefined) return void streams.push(answer.stream);
        await sleep(50);
      }
    };
    const handled: string[] = [];
    const handler = async ({ event }: DeliveredEvent) => {
      handled.push(event.id);
      await sleep(2);
    };
    const since = new Date();
    // Events that wait, and a replica that begins with them.
    for (let count = 0; count < 100; count += 1) await emit();
    consume(nats, handler, { measureMs: 500 });
    const { feeds, seen } = follow(nats);
    await expect.poll(() => feeds.of(accounts[0]!).position()).toBeGreaterThan(0);
    let isOver = false;
    const emitting = (async () => {
      while (!isOver) await emit();
    })();

    const steps = {
      "set-up": () => setUpEvents(operator, { partitions: PARTITIONS }),
      accounts: async () => changeAccounts(PARTITIONS),
    };
    for (const step of order) {
      await sleep(200);
      await steps[step]();
    }
    await expect.poll(() => new Set(streams.slice(-20)), { timeout: 20_000 }).toEqual(new Set(NAMES));
    await sleep(200);
    isOver = true;
    await emitting;
    await expect.poll(() => handled.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(sent.length);
    // Device's streams end once, and clients continue from their last id in the account's partition.
    const breaks = () => seen.filter((each) => each === "break");
    await expect.poll(breaks, { timeout: 10_000 }).toHaveLength(1);
    for (const accountId of accounts)
      await expect.poll(() => feeds.of(accountId).position(), { timeout: 10_000 }).toBeGreaterThan(FIRST);
    await closeAll();
    expect(breaks()).toHaveLength(1);

    expect(handled.toSorted()).toEqual(sent.toSorted());
    expect(streams.filter((stream) => stream === EVENTS_STREAM).length).toBeGreaterThan(100);
    const { streams: info } = await operator.jetstreamManager();
    const { state } = await info.info(EVENTS_STREAM);
    for (const name of NAMES) expect((await info.info(name)).state.first_seq).toBeGreaterThan(state.last_seq);
    const exported = await exportEvents(nats.url, nats.tlsOf("operator"), since);
    expect(exported.map(({ event }) => Event.decode(Buffer.from(event, "base64")).id)).toEqual(sent);
  });
});
