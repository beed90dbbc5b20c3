import { setTimeout } from "node:timers/promises";
import { systemClock, uuidv4, uuidv7 } from "@countersign/core";
import { createTestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { openPostgres, sql } from "@countersign/postgres";
import type { JetStreamManager, NatsConnection } from "nats";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type DeliveredEvent, eventRow, startOutboxPublisher } from "./index.ts";
import { listEventStreams, setUpEvents } from "./set-up.ts";
import { EVENTS_STREAM, partitionOf } from "./stream.ts";
import { beginNats, type TestNats } from "./testing/nats-server.ts";
import {
  accountIn,
  closeAll,
  closeLater,
  consume,
  DURABLE,
  exported,
  FIRST,
  follow,
  logger,
  NAMES,
  PARTITIONS,
  publish,
  subjectOf,
} from "./testing/partitions.ts";

afterEach(closeAll);

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
        await setTimeout(5);
      };
      consume(nats, handler, { concurrency: 3 });
    }
    await expect.poll(() => seen.length, { timeout: 20_000 }).toBe(accounts.length);
    await closeAll();
    expect(seen.sort()).toEqual(accounts.sort());
    expect(takers.size).toBe(2);
    for (const stream of [EVENTS_STREAM, ...NAMES]) {
      const { num_pending, num_ack_pending } = await manager.consumers.info(stream, DURABLE);
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
    await setTimeout(300);
    expect(begun).toBe(expected);
    release.resolve();
    await expect.poll(() => begun).toBe(5 * PARTITIONS);
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
    await emitter.jetstream().publish(subjectOf(accountId), "no event");
    await publish(emitter, accountId);
    const events = await exported(nats, since);
    expect(events.map(({ subject }) => subject)).toEqual([subjectOf(accountId)]);
    const filter = `cs.partition.${NAMES.indexOf(stream)}.v1.account.>`;
    expect(await manager.streams.purge(stream, { filter })).toMatchObject({ purged: 1 });
  });

  it.each([1, 600])(
    "are published while %i wait for a partition that takes none",
    { timeout: 60_000 },
    async (waiting) => {
      const operator = await nats.connectAs("operator");
      const database = await createTestDatabase("account");
      const postgres = openPostgres(database.url, { connections: 2 });
      const emit = async (accountIds: readonly string[]) => {
        const rows = accountIds.map((accountId) => {
          const id = uuidv7(systemClock);
          return eventRow("account", "chain-alert", { id, accountId, occurredAt: new Date() }, {});
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
      closeLater(async () => {
        await publisher.close();
        await link.close();
        await postgres.close();
        await database.drop();
      });
      // Until all that wait have failed once.
      await setTimeout(3_000);
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
    await manager.streams.delete(NAMES[2]!);
    await expect(exported(nats, since)).rejects.toThrow("CS_EVENTS_2 is missing");
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
    expect((await manager.consumers.info(NAMES[3]!, DURABLE)).num_pending).toBe(0);
  });
});
