import { backoffMs, type Logger, NIL_UUID, sleepUntil, uuidv7, withFaultPoints } from "@countersign/core";
import { type Postgres, type Queries, type Statement, sql } from "@countersign/postgres";
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
  /** Milliseconds between two polls of the whole table. Default about 1000. */
  pollMs?: number;
}

interface Row {
  id: string;
  account_id: string;
  subject: string;
  payload: Buffer;
}

/** The numbers of rows that were found and published, the last id, and why one was not published. */
interface Published {
  readonly found: number;
  readonly sent: number;
  readonly last: string;
  readonly failure?: PromiseRejectedResult | undefined;
}

const NOTHING: Published = { found: 0, sent: 0, last: NIL_UUID };
const BATCH_SIZE = 500;
const ACK_MS = 5_000;
/** A transaction waits for NATS. */
const TRANSACTION_MS = 30_000;
const MEASURE_EVERY_MS = 5_000;
/** A look through the whole index comes after so many times as long as the last one took. */
const WHOLE_LOOK_SHARE = 50;
/** SQLSTATE: the statement has met its time limit. */
const QUERY_CANCELED = "57014";
/**
 * A row commits at most this long after its id was made; a later one waits for the next look at the oldest
 * row. Clocks of replicas differ by less.
 */
const MAX_COMMIT_MS = 10_000;
/**
 * The first poll after this process made a row, which commits later; each further poll comes after twice the
 * time. Rows that commit within this time share a statement.
 */
const FIRST_POLL_MS = 25;
const MAX_BACKOFF_ATTEMPT = 8;
/** A row that is still there after so long: its process has ended, or NATS is away. */
const OLD_MS = 2_000;
/** Longer than the pause after a failure: new rows have their turn before old ones that NATS refuses. */
const REFUSED_MS = 1_500;
/** Ids that a process remembers: a row whose id is forgotten is published once it is old. */
const MAX_MADE = 10 * BATCH_SIZE;

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
export function startOutboxPublisher(options: OutboxPublisherOptions): { close(): Promise<void> } {
  // Replicas poll at different times.
  const { nats, postgres, pollMs = 750 + Math.random() * 500 } = options;
  const logger = options.logger.child({ component: "outbox" });
  const metrics = createOutboxMetrics(options.metrics);
  const stop = new AbortController();
  const outbox = withFaultPoints("outbox", { publish: publishRows });

  /** The smallest id to look for: the index has deleted rows until a vacuum, and nearly all are smaller. */
  let from = "";
  let lookAt = Number.NEGATIVE_INFINITY;
  let wholeLookAt = Number.NEGATIVE_INFINITY;
  /**
   * Looks up the oldest row, from the last one on. Only a look through the whole index finds a row that
   * committed late, and it reads all deleted rows that a vacuum keeps while another transaction is open. It
   * has a small share of the time therefore, and publishing goes on where it meets its time limit.
   */
  const measure = async (): Promise<void> => {
    const started = performance.now();
    if (started < lookAt) return;
    const isWhole = started >= wholeLookAt;
    const recent = uuidv7({ now: () => new Date(Date.now() - MAX_COMMIT_MS) });
    try {
      const [oldest] = await postgres.query<{ id: string; age: number }>(sql`
        SELECT id, extract(epoch FROM now() - created_at)::float8 AS age FROM outbox
        WHERE id >= ${isWhole ? NIL_UUID : from}::uuid ORDER BY id LIMIT 1`);
      metrics.oldest.set(oldest?.age ?? 0);
      from = oldest !== undefined && oldest.id < recent ? oldest.id : recent;
    } catch (err) {
      if ((err as { code?: unknown }).code !== QUERY_CANCELED) throw err;
      logger.warn({ err }, "the oldest event was not found in time; will look again");
      from ||= recent;
    }
    const ended = performance.now();
    lookAt = ended + MEASURE_EVERY_MS;
    if (isWhole) wholeLookAt = ended + WHOLE_LOOK_SHARE * (ended - started);
  };

  /** The account of each id that this process made lately. Its row may have been rolled back or published. */
  const made = new Map<string, string>();
  const ownRows = (): Statement | undefined => {
    const old = uuidv7({ now: () => new Date(Date.now() - OLD_MS) });
    for (const id of made.keys()) {
      if (id >= old) break;
      made.delete(id);
    }
    if (made.size === 0) return undefined;
    return sql`
      SELECT id, account_id, subject, payload FROM outbox
      WHERE account_id = ANY(${[...new Set(made.values())]}::uuid[]) AND id = ANY(${[...made.keys()]}::uuid[])
      ORDER BY id LIMIT ${BATCH_SIZE}`;
  };

  /** Publishes the rows that a statement finds, and deletes those that NATS acknowledged. */
  const publishFound = async (on: Queries, stream: JetStreamClient, statement: Statement): Promise<Published> => {
    const rows = await on.query<Row>(statement);
    if (rows.length === 0) return NOTHING;
    const results = await outbox.publish(stream, rows);
    const sent = rows.filter((_, index) => results[index]?.status === "fulfilled");
    if (sent.length > 0) {
      const accountIds = [...new Set(sent.map((row) => row.account_id))];
      await on.execute(sql`
        DELETE FROM outbox
        WHERE account_id = ANY(${accountIds}::uuid[]) AND id = ANY(${sent.map(({ id }) => id)}::uuid[])`);
    }
    // One that failed has its next turn among the old ones.
    for (const { id } of rows) made.delete(id);
    metrics.published.inc(sent.length);
    metrics.failed.inc(rows.length - sent.length);
    const failure = results.find((result) => result.status === "rejected");
    return { found: rows.length, sent: sent.length, last: rows.at(-1)!.id, failure };
  };

  let oldAt = 0;
  /**
   * Old rows up to this id failed and have their next turn after the others: where one partition of the
   * events takes none, those of the others must not wait behind it.
   */
  let failedTo = NIL_UUID;
  /**
   * Publishes rows that are still there after a while, and those of a process whose clock was ahead. Each
   * replica skips those that another one holds; on a database of several nodes, where no statement over
   * shards may lock, two may publish a row, and NATS drops the second message.
   */
  const publishOld = async (stream: JetStreamClient) => {
    const before = uuidv7({ now: () => new Date(Date.now() - OLD_MS) });
    const ahead = uuidv7({ now: () => new Date(Date.now() + MAX_COMMIT_MS) });
    const oldRows = (limit: number): Statement => sql`
      SELECT id, account_id, subject, payload FROM outbox
      WHERE id >= ${from}::uuid AND id > ${failedTo}::uuid AND (id < ${before}::uuid OR id > ${ahead}::uuid)
      ORDER BY id LIMIT ${limit}`;
    const unlocked = oldRows(BATCH_SIZE);
    if (await postgres.isDistributed()) return publishFound(postgres, stream, unlocked);
    // Mostly there are none: then a transaction would be three statements for nothing.
    if ((await postgres.query(oldRows(1))).length === 0) return NOTHING;
    const { name, text, values } = unlocked;
    const locked = { name: `locked ${name}`, text: `${text} FOR UPDATE SKIP LOCKED`, values };
    return postgres.transaction((tx) => publishFound(tx, stream, locked), TRANSACTION_MS);
  };

  /**
   * Publishes a batch: old rows first, where they are looked for or many are left, so that events keep their
   * order after NATS was away. Returns whether more rows may wait; throws where NATS acknowledged none: new
   * rows then have their turn before the old ones that NATS refuses.
   */
  const publishBatch = async (stream: JetStreamClient): Promise<boolean> => {
    const isOld = performance.now() >= oldAt;
    const own = isOld ? undefined : ownRows();
    const { found, sent, last, failure } = isOld
      ? await publishOld(stream)
      : own
        ? await publishFound(postgres, stream, own)
        : NOTHING;
    const isFull = found === BATCH_SIZE;
    if (isOld) failedTo = isFull && failure ? last : NIL_UUID;
    const isRefused = failure !== undefined && sent === 0;
    if (isOld && (!isFull || isRefused)) oldAt = performance.now() + pollMs + (isRefused ? REFUSED_MS : 0);
    if (isRefused) throw failure.reason;
    if (isOld && failure) logger.warn({ err: failure.reason }, "cannot publish some events; will retry");
    return isOld || isFull;
  };

  const pass = async (): Promise<void> => {
    await measure();
    const connection = nats.current();
    if (connection === undefined) return;
    const stream = connection.jetstream({ timeout: ACK_MS });
    while (!stop.signal.aborted && (await publishBatch(stream)));
  };

  let pauseMs = FIRST_POLL_MS;
  let waiting = new AbortController();
  const forget = onOutboxRow(({ id, accountId }) => {
    made.set(id, accountId);
    if (made.size > MAX_MADE) made.delete(made.keys().next().value!);
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
