import { backoffMs, type Logger, sleepUntil, uuidv7, withFaultPoints } from "@countersign/core";
import { type Postgres, sql } from "@countersign/postgres";
import type { JetStreamClient } from "nats";
import type { Registry } from "prom-client";
import { createOutboxMetrics } from "./metrics.ts";
import type { NatsLink } from "./nats.ts";
import { onOutboxRow } from "./outbox-row.ts";

export interface OutboxPublisherOptions {
  nats: NatsLink;
  /** One of its connections at most is in use while NATS answers. */
  postgres: Postgres;
  logger: Logger;
  metrics?: { registry: Registry };
  /** Milliseconds between two polls of the table while this process writes no row. Default about 1000. */
  pollMs?: number;
}

export interface OutboxPublisher {
  close(): Promise<void>;
}

interface Row {
  id: string;
  account_id: string;
  subject: string;
  payload: Buffer;
}

const BATCH_SIZE = 500;
const ACK_MS = 5_000;
/** A transaction waits for NATS. */
const TRANSACTION_MS = 30_000;
const MEASURE_EVERY_MS = 5_000;
/** A row commits this long after its id was made; a later one waits for the next look at the oldest row. */
const MAX_COMMIT_MS = 10_000;
/**
 * The first poll after this process made a row, which commits later; each further poll comes after twice the
 * time. Rows that commit within this time share a transaction.
 */
const FIRST_POLL_MS = 25;
const MAX_BACKOFF_ATTEMPT = 8;
/** A row of another process that is still there after so long: that process has ended, or NATS is away. */
const OTHERS_MS = 2_000;

/** Publishes rows; the results say which of them NATS acknowledged. */
const publishRows = (stream: JetStreamClient, rows: readonly Row[]) =>
  Promise.allSettled(
    rows.map(({ id, subject, payload }) => stream.publish(subject, payload, { msgID: id, timeout: ACK_MS })),
  );

/**
 * Publishes the rows of the service's outbox to JetStream, in all replicas, and deletes those that NATS
 * acknowledged. A row is published at least once; its id lets NATS drop duplicates. While NATS is away, rows
 * wait. Rows that this process makes are found by polls soon after, those of a process that ended by the
 * polls of the others.
 */
export function startOutboxPublisher(options: OutboxPublisherOptions): OutboxPublisher {
  // Replicas poll at different times.
  const { nats, postgres, pollMs = 750 + Math.random() * 500 } = options;
  const logger = options.logger.child({ component: "outbox" });
  const metrics = createOutboxMetrics(options.metrics);
  const stop = new AbortController();
  const outbox = withFaultPoints("outbox", { publish: publishRows });

  /** The smallest id to look for: the index has deleted rows until a vacuum, and nearly all are smaller. */
  let from = "";
  let measuredAt = Number.NEGATIVE_INFINITY;
  const measure = async (): Promise<void> => {
    if (performance.now() - measuredAt < MEASURE_EVERY_MS) return;
    const recent = uuidv7({ now: () => new Date(Date.now() - MAX_COMMIT_MS) });
    const [oldest] = await postgres.query<{ id: string; age: number }>(sql`
      SELECT id, extract(epoch FROM now() - created_at)::float8 AS age FROM outbox ORDER BY id LIMIT 1`);
    metrics.oldest.set(oldest?.age ?? 0);
    from = oldest !== undefined && oldest.id < recent ? oldest.id : recent;
    measuredAt = performance.now();
  };

  /** On a database of several nodes, the newest rows of this process: the account of each id. */
  const made = new Map<string, string>();
  const isDistributed = () => postgres.isDistributed();

  /**
   * As publishBatch, where no statement over shards may lock: rows of this process at once, and rows of
   * others that are still there after a while. Two processes may publish a row then, and NATS drops the
   * second message.
   */
  const publishUnlocked = async (stream: JetStreamClient): Promise<number> => {
    const old = uuidv7({ now: () => new Date(Date.now() - MAX_COMMIT_MS) });
    for (const id of made.keys()) if (id < old) made.delete(id);
    const ids = [...made.keys()].slice(0, BATCH_SIZE);
    const own = sql`
      SELECT id, account_id, subject, payload FROM outbox
      WHERE account_id = ANY(${[...new Set(ids.map((id) => made.get(id)!))]}::uuid[]) AND id = ANY(${ids}::uuid[])`;
    const rows = ids.length === 0 ? [] : await postgres.query<Row>(own);
    if (rows.length === 0 && performance.now() >= othersAt) {
      othersAt = performance.now() + pollMs;
      const before = uuidv7({ now: () => new Date(Date.now() - OTHERS_MS) });
      rows.push(
        ...(await postgres.query<Row>(sql`
          SELECT id, account_id, subject, payload FROM outbox WHERE id >= ${from}::uuid AND id < ${before}::uuid
          ORDER BY id LIMIT ${BATCH_SIZE}`)),
      );
    }
    const results = rows.length === 0 ? [] : await outbox.publish(stream, rows);
    const sent = rows.filter((_, index) => results[index]?.status === "fulfilled");
    if (sent.length > 0) {
      await postgres.execute(sql`
        DELETE FROM outbox WHERE account_id = ANY(${[...new Set(sent.map((row) => row.account_id))]}::uuid[])
          AND id = ANY(${sent.map(({ id }) => id)}::uuid[])`);
    }
    for (const { id } of sent) made.delete(id);
    metrics.published.inc(sent.length);
    metrics.failed.inc(rows.length - sent.length);
    const rejected = results.find((result) => result.status === "rejected");
    if (rejected !== undefined) throw rejected.reason;
    return rows.length;
  };
  let othersAt = 0;

  /**
   * Publishes a batch. Returns the number of rows found; throws after deleting those that NATS acknowledged.
   */
  const publishBatch = async (stream: JetStreamClient): Promise<number> => {
    const { found, acknowledged, failure } = await postgres.transaction(async (tx) => {
      // Skips rows that another replica holds. Transactions commit out of order, so there is no cursor.
      const rows = await tx.query<Row>(sql`
        SELECT id, subject, payload FROM outbox WHERE id >= ${from}::uuid
        ORDER BY id LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED`);
      const results = rows.length === 0 ? [] : await outbox.publish(stream, rows);
      const ids = rows.filter((_, index) => results[index]?.status === "fulfilled").map(({ id }) => id);
      if (ids.length > 0) await tx.execute(sql`DELETE FROM outbox WHERE id = ANY(${ids}::uuid[])`);
      const rejected = results.find((result) => result.status === "rejected");
      return { found: rows.length, acknowledged: ids.length, failure: rejected };
    }, TRANSACTION_MS);
    metrics.published.inc(acknowledged);
    metrics.failed.inc(found - acknowledged);
    if (failure !== undefined) throw failure.reason;
    return found;
  };

  const pass = async (): Promise<void> => {
    await measure();
    const connection = nats.current();
    if (connection === undefined) return;
    const stream = connection.jetstream({ timeout: ACK_MS });
    const publish = (await isDistributed()) ? publishUnlocked : publishBatch;
    while (!stop.signal.aborted && (await publish(stream)) === BATCH_SIZE);
  };

  let pauseMs = FIRST_POLL_MS;
  let waiting = new AbortController();
  let remembers = false;
  void isDistributed().then(
    (is) => (remembers = is),
    () => undefined,
  );
  const forget = onOutboxRow(({ id, accountId }) => {
    if (remembers) made.set(id, accountId);
    pauseMs = FIRST_POLL_MS;
    // With a reason: without one, each call makes an exception with its stack.
    waiting.abort("a row was made");
  });
  const pause = async (): Promise<void> => {
    const ms = pauseMs;
    pauseMs = Math.min(2 * ms, pollMs);
    waiting = new AbortController();
    const slept = await sleepUntil(ms, [stop.signal, waiting.signal]);
    if (!slept) await sleepUntil(FIRST_POLL_MS, [stop.signal]);
  };

  const run = async (): Promise<void> => {
    for (let failures = 0; !stop.signal.aborted; ) {
      try {
        await pass();
        failures = 0;
        await pause();
      } catch (err) {
        failures = Math.min(failures + 1, MAX_BACKOFF_ATTEMPT);
        if (!stop.signal.aborted) logger.warn({ err, attempt: failures }, "cannot publish events; will retry");
        await sleepUntil(200 + backoffMs(failures), [stop.signal]);
      }
    }
  };
  const finished = run();

  return {
    async close() {
      stop.abort();
      forget();
      await finished;
    },
  };
}
