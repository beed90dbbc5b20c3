import type { TlsMaterial } from "@countersign/core";
import {
  AckPolicy,
  connect,
  DeliverPolicy,
  type JetStreamManager,
  type NatsConnection,
  NatsError,
  ReplayPolicy,
  RetentionPolicy,
  StorageType,
} from "nats";
import { DURABLE_SETTINGS, FED_SUBJECTS } from "./consumers.ts";
import { EVENTS_STREAM, EVENTS_SUBJECTS } from "./stream.ts";

const SECOND_NS = 1_000_000_000;
const MINUTE_NS = 60 * SECOND_NS;
const HOUR_NS = 60 * MINUTE_NS;
/**
 * An event is published again where its process ended, or Postgres or NATS was away, before it was deleted:
 * after seconds, or after an outage. NATS keeps the ids of this time in memory.
 */
const DUPLICATE_WINDOW_NS = 5 * MINUTE_NS;
// JetStream API errors: stream not found; the consumer exists with other settings; consumer not found.
const NO_STREAM = 10059;
const EXISTS = 10148;
const NO_CONSUMER = 10014;

/** Durable consumers of earlier versions: nobody fetches their events any more. */
const RETIRED = ["device-session-created", "key-session-created"];

const REPUBLISH = { src: EVENTS_SUBJECTS, dest: FED_SUBJECTS };
const STREAM = {
  name: EVENTS_STREAM,
  subjects: [EVENTS_SUBJECTS],
  retention: RetentionPolicy.Limits,
  storage: StorageType.File,
  max_age: 7 * 24 * HOUR_NS,
  duplicate_window: DUPLICATE_WINDOW_NS,
};

const hasCode = (error: unknown, code: number) => error instanceof NatsError && error.api_error?.err_code === code;

async function ensureStream({ streams }: JetStreamManager, replicas: number): Promise<void> {
  const ours = { republish: REPUBLISH, num_replicas: replicas, duplicate_window: DUPLICATE_WINDOW_NS };
  try {
    const { config } = await streams.info(EVENTS_STREAM);
    const { republish, num_replicas, duplicate_window } = config;
    if (republish === undefined || num_replicas !== replicas || duplicate_window !== DUPLICATE_WINDOW_NS)
      await streams.update(EVENTS_STREAM, { ...config, ...ours });
  } catch (error) {
    if (!hasCode(error, NO_STREAM)) throw error;
    await streams.add({ ...STREAM, ...ours });
  }
}

/**
 * Sets up NATS, as the operator; no service has the right to. Creates the stream of all events if it is
 * missing (an existing one keeps its settings, except the number of servers that have it and the duplicate
 * window), and every service's durable consumers with the settings of this version; deletes those that it no
 * longer has. `replicas`: the number of servers that have the stream, 1, 3 or 5. Idempotent.
 */
export async function setUpEvents(operator: NatsConnection, { replicas = 1 } = {}): Promise<void> {
  const manager = await operator.jetstreamManager();
  await ensureStream(manager, replicas);
  for (const durable of RETIRED) {
    await manager.consumers.delete(EVENTS_STREAM, durable).catch((error) => {
      if (!hasCode(error, NO_CONSUMER)) throw error;
    });
  }
  for (const [durable, { filter, maxDeliver = 30, ackWaitMs = 30_000 }] of DURABLE_SETTINGS) {
    const config = {
      durable_name: durable,
      ack_policy: AckPolicy.Explicit,
      ack_wait: (ackWaitMs / 1000) * SECOND_NS,
      deliver_policy: DeliverPolicy.All,
      replay_policy: ReplayPolicy.Instant,
      max_deliver: maxDeliver,
      filter_subjects: [...filter],
    };
    try {
      await manager.consumers.add(EVENTS_STREAM, config);
    } catch (error) {
      if (!hasCode(error, EXISTS)) throw error;
      await manager.consumers.update(EVENTS_STREAM, durable, config);
    }
  }
}

/**
 * Connects to `natsUrl`, for example "tls://127.0.0.1:4222", as the operator and runs `setUpEvents`. Several
 * servers are separated by commas.
 */
export async function setUpNats(
  natsUrl: string,
  { ca, cert, key }: TlsMaterial,
  options: { replicas?: number } = {},
): Promise<void> {
  const tls = { ca: ca.toString(), cert: cert.toString(), key: key.toString() };
  const operator = await connect({ servers: natsUrl.split(","), name: "set-up", tls, timeout: 5_000 });
  try {
    await setUpEvents(operator, options);
  } finally {
    await operator.close();
  }
}

/**
 * Returns the stream's events since a time, as the operator: subjects and messages in base64. Errors: Error
 * where the stream was made later or keeps events for less time: some would be missing.
 */
export async function exportEvents(
  natsUrl: string,
  { ca, cert, key }: TlsMaterial,
  since: Date,
): Promise<{ subject: string; event: string }[]> {
  const tls = { ca: ca.toString(), cert: cert.toString(), key: key.toString() };
  const operator = await connect({ servers: natsUrl.split(","), name: "export", tls, timeout: 5_000 });
  try {
    const { created, config } = await (await operator.jetstreamManager()).streams.info(EVENTS_STREAM);
    const keepsSince = config.max_age === 0 ? 0 : Date.now() - config.max_age / 1_000_000;
    // `since` has a margin of a minute.
    if (since.getTime() + 60_000 < Math.max(Date.parse(created), keepsSince))
      throw new Error(`the stream of events has none of before ${created}, or has deleted them: use --no-events`);
    const options = { deliver_policy: DeliverPolicy.StartTime, opt_start_time: since.toISOString() };
    const consumer = await operator.jetstream().consumers.get(EVENTS_STREAM, options);
    let { num_pending: left } = await consumer.info();
    const events: { subject: string; event: string }[] = [];
    if (left === 0) return events;
    for await (const { subject, data } of await consumer.consume()) {
      events.push({ subject, event: Buffer.from(data).toString("base64") });
      left -= 1;
      if (left === 0) break;
    }
    return events;
  } finally {
    await operator.close();
  }
}
