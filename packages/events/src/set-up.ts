import type { TlsMaterial } from "@countersign/core";
import {
  AckPolicy,
  type ConsumerConfig,
  connect,
  DeliverPolicy,
  type JetStreamManager,
  type NatsConnection,
  NatsError,
  ReplayPolicy,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from "nats";
import { DURABLE_SETTINGS } from "./consumers.ts";
import {
  EVENTS_STREAM,
  EVENTS_SUBJECTS,
  type EventStream,
  PARTITIONS,
  partitionStreams,
  partitionsIn,
  UNPARTITIONED,
} from "./stream.ts";

const SECOND_NS = 1_000_000_000;
const MINUTE_NS = 60 * SECOND_NS;
const HOUR_NS = 60 * MINUTE_NS;
/**
 * An event is published again where its process ended, or Postgres or NATS was away, before it was deleted:
 * after seconds, or after an outage. NATS keeps the ids of this time in memory.
 */
const DUPLICATE_WINDOW_NS = 5 * MINUTE_NS;
// JetStream API errors: stream not found; the consumer exists with other settings.
const NO_STREAM = 10059;
const EXISTS = 10148;

/**
 * Events of a durable consumer that were delivered and not acknowledged, also those that failed and wait for
 * their next delivery: with so many, NATS delivers no other one. By its default of 1,000, the accounts of one
 * push service that is away hold up the notices of all others.
 */
const MAX_UNACKNOWLEDGED = 100_000;

/**
 * How far the numbers of a partition's events begin above those of all events before, which are the ids that
 * clients resume from: more than come until NATS distributes the events.
 */
const SEQUENCE_MARGIN = 1_000_000_000;

const STREAM = {
  retention: RetentionPolicy.Limits,
  storage: StorageType.File,
  max_age: 7 * 24 * HOUR_NS,
  duplicate_window: DUPLICATE_WINDOW_NS,
};

const hasCode = (error: unknown, code: number) => error instanceof NatsError && error.api_error?.err_code === code;

function refuse(config: StreamConfig): never {
  throw new Error(`NATS has events in ${partitionsIn(config)} partitions; set CS_NATS_PARTITIONS to that`);
}

/** Creates a stream if it is missing. Errors: Error where it belongs to another number of partitions. */
async function ensureStream(
  { streams }: JetStreamManager,
  { name, subjects, feed }: EventStream,
  replicas: number,
  created: Partial<StreamConfig> = {},
): Promise<void> {
  const ours = {
    republish: { src: EVENTS_SUBJECTS, dest: feed },
    num_replicas: replicas,
    duplicate_window: DUPLICATE_WINDOW_NS,
  };
  try {
    const { config } = await streams.info(name);
    if (created.metadata && partitionsIn(config) !== partitionsIn(created)) refuse(config);
    const { republish, num_replicas, duplicate_window } = config;
    if (republish === undefined || num_replicas !== replicas || duplicate_window !== DUPLICATE_WINDOW_NS)
      await streams.update(name, { ...config, ...ours });
  } catch (error) {
    if (!hasCode(error, NO_STREAM)) throw error;
    await streams.add({ name, subjects: [subjects], ...STREAM, ...ours, ...created });
  }
}

/** Returns the names of the streams of events that NATS has, as the operator. */
export async function listEventStreams({ streams }: JetStreamManager): Promise<string[]> {
  const names: string[] = [];
  for await (const name of streams.names()) if (/^CS_EVENTS(_\d+)?$/.test(name)) names.push(name);
  return names.sort();
}

/**
 * Returns the largest number of an event. Errors: Error where NATS has another number of partitions: another
 * partition of an account would have other numbers.
 */
async function lastSequence(manager: JetStreamManager, partitions: number): Promise<number> {
  let last = 0;
  for (const name of await listEventStreams(manager)) {
    const { config, state } = await manager.streams.info(name);
    if (name !== EVENTS_STREAM && partitionsIn(config) !== partitions) refuse(config);
    last = Math.max(last, state.last_seq);
  }
  return last;
}

/** Creates the durable consumers of a stream, or gives them the settings of this version. */
async function ensureConsumers(
  { consumers }: JetStreamManager,
  stream: string,
  metadata: ConsumerConfig["metadata"] = {},
): Promise<void> {
  for (const [durable, { filter, maxDeliver, ackWaitMs }] of DURABLE_SETTINGS) {
    const config = {
      durable_name: durable,
      ack_policy: AckPolicy.Explicit,
      ack_wait: (ackWaitMs / 1000) * SECOND_NS,
      deliver_policy: DeliverPolicy.All,
      replay_policy: ReplayPolicy.Instant,
      max_deliver: maxDeliver,
      max_ack_pending: MAX_UNACKNOWLEDGED,
      filter_subjects: [...filter],
      metadata,
    };
    try {
      await consumers.add(stream, config);
    } catch (error) {
      if (!hasCode(error, EXISTS)) throw error;
      await consumers.update(stream, durable, config);
    }
  }
}

export interface SetUpOptions {
  /** The number of servers that have each stream: 1, 3 or 5. Default 1. */
  replicas?: number;
  /** Default 1: one stream of all events. Another number is final. */
  partitions?: number;
}

/**
 * Sets up NATS, as the operator; no service has the right to. Creates the streams of events that are missing
 * (existing ones keep their settings, except the number of servers that have them and the duplicate window),
 * and every service's durable consumers with the settings of this version. Those of other versions, which may
 * still run, stay. Idempotent. Errors: Error where NATS has another number of partitions.
 */
export async function setUpEvents(
  operator: NatsConnection,
  { replicas = 1, partitions = 1 }: SetUpOptions = {},
): Promise<void> {
  const manager = await operator.jetstreamManager();
  const metadata = { [PARTITIONS]: String(partitions) };
  await ensureStream(manager, UNPARTITIONED, replicas);
  const last = await lastSequence(manager, partitions);
  // First: a service that reads the number before there are all partitions logs that it cannot consume, and
  // one that does not know it would wait in silence.
  await ensureConsumers(manager, EVENTS_STREAM, metadata);
  const { config } = await manager.streams.info(EVENTS_STREAM);
  if (partitionsIn(config) !== partitions)
    await manager.streams.update(EVENTS_STREAM, { ...config, metadata: { ...config.metadata, ...metadata } });
  for (const stream of partitionStreams(partitions)) {
    await ensureStream(manager, stream, replicas, {
      first_seq: last + SEQUENCE_MARGIN,
      subject_transform: { src: stream.subjects, dest: EVENTS_SUBJECTS },
      metadata,
    });
    await ensureConsumers(manager, stream.name);
  }
}

/** Connects to `natsUrl`, for example "tls://127.0.0.1:4222", as the operator; commas separate several. */
export const connectOperator = (natsUrl: string, { ca, cert, key }: TlsMaterial, name: string) => {
  const tls = { ca: ca.toString(), cert: cert.toString(), key: key.toString() };
  return connect({ servers: natsUrl.split(","), name, tls, timeout: 5_000 });
};

/** Connects and runs `setUpEvents`. */
export async function setUpNats(natsUrl: string, tls: TlsMaterial, options: SetUpOptions): Promise<void> {
  const operator = await connectOperator(natsUrl, tls, "set-up");
  try {
    await setUpEvents(operator, options);
  } finally {
    await operator.close();
  }
}
