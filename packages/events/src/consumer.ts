import { asOperation, inSpan, type Logger, parseTraceParent, sleepUntil } from "@countersign/core";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { type ConsumerMessages, type JsMsg, type NatsConnection, NatsError } from "nats";
import type { Registry } from "prom-client";
import { API_PREFIX, DURABLE_SETTINGS, type Durable } from "./consumers.ts";
import { consumerMetrics } from "./metrics.ts";
import type { NatsLink } from "./nats.ts";
import { EVENTS_STREAM, partitionStreams, partitionsIn } from "./stream.ts";

export interface DeliveredEvent {
  subject: string;
  /** 1 for the first delivery. */
  attempt: number;
  event: Event;
}

export interface ConsumerOptions {
  nats: NatsLink;
  /**
   * Shared by the replicas of a service: each event goes to one of them. The operator's set-up creates it.
   */
  durable: Durable;
  /** Handles an event; must be idempotent. If it throws, the event is delivered again later. */
  handler: (delivered: DeliveredEvent) => Promise<void>;
  logger: Logger;
  metrics?: { registry: Registry };
  /**
   * The number of events of CS_EVENTS that are handled at once, and with partitions of all of them together,
   * but at least one of each; more than one gives up their order. Default 1.
   */
  concurrency?: number;
  /** Milliseconds between two questions how many events wait, and in how many partitions. Default 15,000. */
  measureMs?: number;
}

const MEASURE_MS = 15_000;
/** Milliseconds for NATS to answer a consumer that stops. */
const STOP_MS = 500;
const DELAYS_MS = [500, 1_000, 2_000, 5_000, 15_000, 60_000, 300_000];

/** "on device-registered". */
const operationOf = ({ subject }: { subject: string }): string => `on ${subject.split(".").at(-1)}`;

/** Returns the milliseconds until an event is delivered again after its n-th delivery. */
function delayMs(attempt: number): number {
  return DELAYS_MS[Math.min(attempt, DELAYS_MS.length) - 1] ?? 500;
}

/** Answers NATS. Its connection may have ended since: then the event is delivered again. */
function answer(send: () => void): void {
  try {
    send();
  } catch (error) {
    if (!(error instanceof NatsError)) throw error;
  }
}

/** The last fetch request, with its answers. */
interface Fetch {
  readonly connection: NatsConnection;
  readonly messages: ConsumerMessages;
  /** Returns whether further events may come. */
  readonly isOpen: () => boolean;
}

/**
 * Waits until NATS has begun to process the fetch requests that were sent before: it processes those of a
 * durable in their order, so that an answer to one more says so. Where their inbox ends earlier, NATS
 * delivers the next event to it all the same, and again only after the time to acknowledge. Returns the event
 * that the last request got, if any.
 */
const untilFetchesBegan = (connection: NatsConnection, stream: string, durable: Durable): Promise<JsMsg | undefined> =>
  connection
    .jetstream({ apiPrefix: API_PREFIX, timeout: STOP_MS })
    .pull(stream, durable)
    // Without an event the answer is an error, as where NATS is away.
    .catch(() => undefined);

/**
 * Consumes events durably, with explicit acknowledgement, until it is closed; missed events come first. NATS
 * says in how many partitions they are, also while it runs.
 */
export function startConsumer(options: ConsumerOptions) {
  const { concurrency = 1 } = options;
  const metrics = consumerMetrics(options.metrics, options.durable);
  const consumers: ReturnType<typeof consumeStream>[] = [];
  let isClosed = false;
  let partitions = 1;
  const found = (number: number): void => {
    if (isClosed || number === partitions) return;
    if (partitions > 1) {
      options.logger.error(`events wait at NATS: it has ${number} partitions now, not ${partitions}; restart`);
      return;
    }
    partitions = number;
    for (const { name } of partitionStreams(number))
      consumers.push(consumeStream(name, options, Math.ceil(concurrency / number), metrics));
  };
  consumers.push(consumeStream(EVENTS_STREAM, options, concurrency, metrics, found));
  return {
    async close() {
      isClosed = true;
      await Promise.all(consumers.map((consumer) => consumer.close()));
    },
  };
}

/** Consumes the events of one stream, and calls `found` with the number of partitions that it names. */
function consumeStream(
  stream: string,
  options: ConsumerOptions,
  concurrency: number,
  metrics: ReturnType<typeof consumerMetrics>,
  found: (partitions: number) => void = () => undefined,
): { close(): Promise<void> } {
  const { nats, durable } = options;
  const handler = asOperation(operationOf, options.handler);
  const { maxDeliver, ackWaitMs } = DURABLE_SETTINGS.get(durable)!;
  const logger = options.logger.child({ component: "consumer", durable });
  const stop = new AbortController();
  let fetch: Fetch | undefined;
  /** Also those of an earlier connection: a slow one does not hold up the events of the next. */
  const running = new Set<Promise<void>>();

  const handle = async (message: JsMsg): Promise<void> => {
    const { subject } = message;
    const attempt = message.info.deliveryCount;
    const started = performance.now();
    const observe = (outcome: "handled" | "failed" | "dropped") =>
      metrics.observe(outcome, (performance.now() - started) / 1_000);
    let event: Event;
    try {
      event = Event.decode(message.data);
    } catch (err) {
      logger.error({ err, subject }, "not an event");
      answer(() => message.term("not an event"));
      observe("dropped");
      return;
    }
    const parent = parseTraceParent(event.traceparent);
    // A handler that waits for a lock must not get the same event a second time meanwhile.
    const working = setInterval(() => answer(() => message.working()), ackWaitMs / 3);
    try {
      await inSpan(operationOf({ subject }), { kind: "consumer", parent }, () => handler({ subject, attempt, event }));
      answer(() => message.ack());
      observe("handled");
    } catch (err) {
      const last = attempt >= maxDeliver;
      logger[last ? "error" : "warn"](
        { err, subject, eventId: event.id, accountId: event.accountId, traceId: parent?.traceId, attempt },
        last ? "event failed for the last time and is dropped" : "event failed; will be delivered again",
      );
      answer(() => (last ? message.term("too many deliveries") : message.nak(delayMs(attempt))));
      observe(last ? "dropped" : "failed");
    } finally {
      clearInterval(working);
    }
  };

  const consume = async (connection: NatsConnection): Promise<void> => {
    const consumer = await connection.jetstream({ apiPrefix: API_PREFIX }).consumers.get(stream, durable);
    // Beside the loop, which a slow handler holds up. While NATS is away the last answer stays.
    const measure = () =>
      void consumer.info().then(
        (info) => {
          metrics.setLag(stream, info);
          found(partitionsIn(info.config));
        },
        () => undefined,
      );
    measure();
    const measuring = setInterval(measure, options.measureMs ?? MEASURE_MS);
    try {
      // Fetch requests made while NATS is away would all be sent later, for inboxes that no longer exist.
      while (!stop.signal.aborted && nats.current() === connection) {
        if (running.size >= concurrency) await Promise.race(running);
        // No more than can be handled at once: events that wait here would be delivered again and again to
        // other processes.
        const max_messages = concurrency - running.size;
        const messages = await consumer.fetch({ max_messages, expires: 10_000, idle_heartbeat: 2_000 });
        // The loop below sends the request: nothing was requested yet.
        if (stop.signal.aborted) return void messages.close();
        fetch = { connection, messages, isOpen: () => messages.getReceived() < max_messages };
        for await (const message of messages) {
          const work = handle(message).finally(() => running.delete(work));
          running.add(work);
          // After NATS was lost, more events may come than were requested.
          if (running.size >= concurrency) await Promise.race(running);
        }
      }
    } finally {
      fetch = undefined;
      clearInterval(measuring);
    }
  };

  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const connection = await nats.connected(stop.signal);
      if (connection === undefined || stop.signal.aborted) return;
      try {
        await consume(connection);
      } catch (err) {
        if (!stop.signal.aborted) logger.warn({ err }, "cannot consume events; will retry");
      }
      await sleepUntil(1_000, [stop.signal]);
    }
  };
  const finished = run();

  return {
    async close() {
      stop.abort();
      const isWaiting = fetch?.isOpen() && nats.current() === fetch.connection;
      const last = isWaiting ? await untilFetchesBegan(fetch!.connection, stream, durable) : undefined;
      await fetch?.messages.close().catch(() => undefined);
      await finished;
      // It counts as a delivery, perhaps the last one.
      if (last !== undefined) await handle(last);
      await Promise.all(running);
    },
  };
}
