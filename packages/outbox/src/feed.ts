import { AppError } from "@countersign/errors";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { sleepUntil, uuidv4 } from "@countersign/service-kit";
import {
  AckPolicy,
  type ConsumerMessages,
  DeliverPolicy,
  Events,
  type JetStreamManager,
  type NatsConnection,
  ReplayPolicy,
} from "nats";
import { type DEVICE_FEED, FEED_CONSUMERS } from "./consumers.ts";
import { linkNats, type NatsOptions } from "./nats.ts";
import { EVENTS_STREAM, EVENTS_SUBJECTS, ensureEventsStream, hasCode } from "./stream.ts";

/** An event at its place in the stream. */
export interface StoredEvent {
  /** The stream's own number: rises with every event, never twice the same. */
  sequence: number;
  subject: string;
  /** When NATS stored it. */
  storedAt: Date;
  event: Event;
}

/** A new event that is not decoded yet: most processes want few of all. */
export interface FedEvent {
  sequence: number;
  /** cs.v1.<service>.<account id>.<event>. */
  subject: string;
  decode(): Event;
}

export interface FeedOptions extends NatsOptions {
  name: typeof DEVICE_FEED;
  /** Every event from the feed's start on, in order and without a gap. Must not throw. */
  onEvent(event: FedEvent): void;
  /** The stream began anew: what was between is unknown. */
  onBreak(): void;
}

export interface EventFeed {
  /** All events up to this sequence were handed out; undefined until NATS answered for the first time. */
  position(): number | undefined;
  /** The first and the last sequence that the stream keeps, asked now. Errors: Unavailable. */
  bounds(): Promise<{ first: number; last: number }>;
  /** The first event of a subject (with wildcards) from a sequence or a time on; undefined where there is none. Errors: Unavailable. */
  next(subject: string, from: number | Date): Promise<StoredEvent | undefined>;
  close(): Promise<void>;
}

const SECOND_NS = 1_000_000_000;
const REQUEST_MS = 2_000;
// JetStream API error: no message found.
const NO_MESSAGE = 10037;
// JetStream API error: the consumer exists with other settings.
const NAME_TAKEN = 10148;

interface MessageAnswer {
  error?: { err_code: number; description: string };
  message?: { subject: string; seq: number; data?: string; time: string };
}

/**
 * Follows the whole stream with one consumer of this process, from now on, in order and without a gap: it starts anew behind the last event
 * that it handed out whenever NATS was lost or a delivery is missing. Older events are read one by one, which needs no consumer at all.
 */
export function startEventFeed(options: FeedOptions): EventFeed {
  const logger = options.logger.child({ component: "event-feed" });
  const stop = new AbortController();
  const nats = linkNats({ ...options, logger });
  const owner = uuidv4();
  let messages: ConsumerMessages | undefined;
  let position: number | undefined;
  /** The name of this process's consumer. */
  let held: string | undefined;

  const startingPoint = (last: number): number => {
    if (position !== undefined && position <= last) return position;
    if (position !== undefined) options.onBreak();
    return last;
  };

  /** Gives the name back that this process has; NATS does so by itself when a process died. */
  const release = async (connection: NatsConnection | undefined): Promise<void> => {
    if (held === undefined || connection === undefined) return;
    const name = held;
    held = undefined;
    const manager = await connection.jetstreamManager({ checkAPI: false, timeout: REQUEST_MS });
    await manager.consumers.delete(EVENTS_STREAM, name);
  };

  /** Makes a consumer of this process's own under the first free name. */
  const addConsumer = async (manager: JetStreamManager, from: number): Promise<string> => {
    for (const name of FEED_CONSUMERS) {
      try {
        await manager.consumers.add(EVENTS_STREAM, {
          name,
          // Another process's consumer differs in this at least, and is then no success.
          metadata: { owner },
          ack_policy: AckPolicy.None,
          deliver_policy: DeliverPolicy.StartSequence,
          opt_start_seq: from,
          replay_policy: ReplayPolicy.Instant,
          filter_subject: EVENTS_SUBJECTS,
          inactive_threshold: 30 * SECOND_NS,
          mem_storage: true,
          num_replicas: 1,
        });
        held = name;
        return name;
      } catch (error) {
        if (!hasCode(error, NAME_TAKEN)) throw error;
      }
    }
    throw new Error("no name is free for a consumer");
  };

  const follow = async (connection: NatsConnection): Promise<void> => {
    const manager = await connection.jetstreamManager();
    await ensureEventsStream(manager);
    await release(connection).catch(() => undefined);
    const { state } = await manager.streams.info(EVENTS_STREAM);
    position = startingPoint(state.last_seq);
    const name = await addConsumer(manager, position + 1);
    const consumer = await connection.jetstream().consumers.get(EVENTS_STREAM, name);
    messages = await consumer.consume({
      max_messages: 500,
      expires: 10_000,
      idle_heartbeat: 2_000,
      abort_on_missing_resource: true,
    });
    if (stop.signal.aborted) return void (await messages.close());
    let expected = 1;
    for await (const message of messages) {
      if (message.info.deliverySequence !== expected) throw new Error("a delivery is missing");
      expected += 1;
      position = message.seq;
      const { seq: sequence, subject, data } = message;
      options.onEvent({ sequence, subject, decode: () => Event.decode(data) });
    }
  };

  /** What was under way when the connection broke is lost to this consumer: the next one begins behind what arrived. */
  const endOnDisconnect = async (connection: NatsConnection, ended: AbortSignal): Promise<void> => {
    for await (const { type } of connection.status()) {
      if (ended.aborted) return;
      if (type === Events.Disconnect) return void (await messages?.close());
    }
  };

  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const connection = await nats.connected();
      if (connection === undefined) return;
      const ended = new AbortController();
      void endOnDisconnect(connection, ended.signal).catch(() => undefined);
      try {
        await follow(connection);
      } catch (err) {
        if (!stop.signal.aborted) logger.warn({ err }, "cannot follow events");
      }
      ended.abort();
      await messages?.close().catch(() => undefined);
      await sleepUntil(200, [stop.signal]);
    }
  };
  const finished = run();

  const online = (): NatsConnection => {
    const connection = nats.current();
    if (connection === undefined) throw new AppError("Unavailable", { retryAfterSeconds: 2 });
    return connection;
  };
  const ask = async <T>(subject: string, payload: string): Promise<T> => {
    const connection = online();
    try {
      return (await connection.request(subject, payload, { timeout: REQUEST_MS })).json<T>();
    } catch (cause) {
      throw new AppError("Unavailable", { retryAfterSeconds: 2, cause });
    }
  };

  return {
    position: () => position,
    async bounds() {
      const { state } = await ask<{ state?: { first_seq: number; last_seq: number } }>(
        `$JS.API.STREAM.INFO.${EVENTS_STREAM}`,
        "",
      );
      if (state === undefined) throw new AppError("Unavailable", { retryAfterSeconds: 2 });
      return { first: state.first_seq, last: state.last_seq };
    },
    async next(subject, from) {
      const place = typeof from === "number" ? { seq: from } : { start_time: from.toISOString() };
      const { error, message } = await ask<MessageAnswer>(
        `$JS.API.STREAM.MSG.GET.${EVENTS_STREAM}`,
        JSON.stringify({ ...place, next_by_subj: subject }),
      );
      if (error?.err_code === NO_MESSAGE) return undefined;
      if (message === undefined) throw new AppError("Unavailable", { retryAfterSeconds: 2 });
      return {
        sequence: message.seq,
        subject: message.subject,
        storedAt: new Date(message.time),
        event: Event.decode(Buffer.from(message.data ?? "", "base64")),
      };
    },
    async close() {
      stop.abort();
      await messages?.close().catch(() => undefined);
      await finished;
      await release(nats.current()).catch(() => undefined);
      await nats.close();
    },
  };
}
