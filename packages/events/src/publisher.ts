import { backoffMs, type Logger, sleepUntil, withFaultPoints } from "@countersign/core";
import { listenPostgres, openPostgres, sql } from "@countersign/postgres";
import type { JetStreamClient } from "nats";
import type { Registry } from "prom-client";
import { createOutboxMetrics } from "./metrics.ts";
import { linkNats, type NatsOptions } from "./nats.ts";

export interface OutboxPublisherOptions extends Omit<NatsOptions, "name"> {
  databaseUrl: string;
  logger: Logger;
  metrics?: { registry: Registry };
  /** The connection's name in NATS. Default "outbox". */
  name?: string;
  /** Milliseconds between two polls of the table without a notification. Default 1000. */
  pollMs?: number;
}

export interface OutboxPublisher {
  close(): Promise<void>;
}

interface Row {
  id: string;
  subject: string;
  payload: Buffer;
}

const BATCH_SIZE = 100;
/** How long published rows are kept. */
const KEEP_DAYS = 7;
const ACK_MS = 5_000;
/** A transaction waits for NATS. */
const TRANSACTION_MS = 30_000;
const MEASURE_EVERY_MS = 1_000;
/** Rows that commit within this time share a transaction and a flush; a person does not notice it. */
const COLLECT_MS = 10;
const PRUNE_EVERY_MS = 10 * 60_000;
const MAX_BACKOFF_ATTEMPT = 8;

/** Publishes rows; the results say which of them NATS acknowledged. */
const publishRows = (stream: JetStreamClient, rows: readonly Row[]) =>
  Promise.allSettled(
    rows.map(({ id, subject, payload }) => stream.publish(subject, payload, { msgID: id, timeout: ACK_MS })),
  );

/**
 * Publishes the rows of the service's outbox to JetStream, in all replicas. A row is published at least once;
 * its id lets NATS drop duplicates. While NATS is away, rows wait.
 */
export function startOutboxPublisher(options: OutboxPublisherOptions): OutboxPublisher {
  const logger = options.logger.child({ component: "outbox" });
  const metrics = createOutboxMetrics(options.metrics);
  const stop = new AbortController();
  const postgres = openPostgres(options.databaseUrl, {
    connections: 1,
    applicationName: "outbox",
    onError: (err) => logger.warn({ err }, "Postgres connection lost"),
  });
  const nats = linkNats({ ...options, logger, name: options.name ?? "outbox" });
  const outbox = withFaultPoints("outbox", { publish: publishRows });
  let wake: (() => void) | undefined;
  let woken = false;
  const listener = listenPostgres({
    databaseUrl: options.databaseUrl,
    channel: "outbox",
    logger,
    onNotify: () => {
      woken = true;
      wake?.();
    },
  });

  /**
   * Publishes one batch. Returns the number of rows found; throws after marking those that NATS acknowledged.
   */
  const publishBatch = async (stream: JetStreamClient): Promise<number> => {
    const { found, acknowledged, failure } = await postgres.transaction(async (tx) => {
      // Skips rows that another replica holds. Transactions commit out of order, so there is no cursor.
      const rows = await tx.query<Row>(sql`
        SELECT id, subject, payload FROM outbox WHERE published_at IS NULL
        ORDER BY created_at, id LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED`);
      const results = rows.length === 0 ? [] : await outbox.publish(stream, rows);
      const ids = rows.filter((_, index) => results[index]?.status === "fulfilled").map(({ id }) => id);
      if (ids.length > 0) {
        await tx.execute(sql`UPDATE outbox SET published_at = now() WHERE id = ANY(${ids}::uuid[])`);
      }
      const rejected = results.find((result) => result.status === "rejected");
      return { found: rows.length, acknowledged: ids.length, failure: rejected };
    }, TRANSACTION_MS);
    metrics.published.inc(acknowledged);
    metrics.failed.inc(found - acknowledged);
    if (failure !== undefined) throw failure.reason;
    return found;
  };

  let prunedAt = Number.NEGATIVE_INFINITY;
  let measuredAt = Number.NEGATIVE_INFINITY;
  const housekeeping = async (): Promise<void> => {
    if (performance.now() - measuredAt < MEASURE_EVERY_MS) return;
    measuredAt = performance.now();
    const [oldest] = await postgres.query<{ age: number }>(sql`
      SELECT coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS age
      FROM outbox WHERE published_at IS NULL`);
    metrics.oldest.set(oldest?.age ?? 0);
    if (performance.now() - prunedAt < PRUNE_EVERY_MS) return;
    prunedAt = performance.now();
    const count = await postgres.execute(sql`
      DELETE FROM outbox WHERE id IN (
        SELECT id FROM outbox WHERE published_at < now() - make_interval(days => ${KEEP_DAYS})
        LIMIT 5000 FOR UPDATE SKIP LOCKED)`);
    if (count > 0) logger.info({ count }, "pruned published rows");
  };

  const pause = async (): Promise<void> => {
    if (woken) return;
    const waiting = new AbortController();
    wake = () => waiting.abort();
    await sleepUntil(options.pollMs ?? 1_000, [stop.signal, waiting.signal]);
    wake = undefined;
  };

  const pass = async (): Promise<void> => {
    await housekeeping();
    const connection = nats.current();
    if (connection === undefined) return;
    const stream = connection.jetstream({ timeout: ACK_MS });
    while (!stop.signal.aborted && (await publishBatch(stream)) === BATCH_SIZE);
  };

  const run = async (): Promise<void> => {
    for (let failures = 0; !stop.signal.aborted; ) {
      woken = false;
      try {
        await pass();
        failures = 0;
        await pause();
        await sleepUntil(COLLECT_MS, [stop.signal]);
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
      await finished;
      await Promise.all([listener.close(), nats.close(), postgres.close()]);
    },
  };
}
