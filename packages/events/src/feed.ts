import { AppError, type Logger, sleepUntil } from "@countersign/core";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { ErrorCode, Events, type Msg, type NatsConnection, type Subscription } from "nats";
import { API_PREFIX } from "./consumers.ts";
import type { NatsLink } from "./nats.ts";
import { EVENTS_SUBJECTS, partitionOf, partitionStreams, partitionsIn, UNPARTITIONED } from "./stream.ts";

/** An event at its place in the stream. */
export interface StoredEvent {
  /** The stream's own number: increases with every event and is never used twice. */
  sequence: number;
  subject: string;
  /** The time at which NATS stored it. */
  storedAt: Date;
  /** Empty, without an account, if the stored bytes are no event. */
  event: Event;
}

/** A new event that is not decoded yet: most processes need few of all events. */
export interface FedEvent {
  sequence: number;
  /** cs.v1.<service>.<account id>.<event>. */
  subject: string;
  decode(): Event;
}

export interface FeedOptions {
  nats: NatsLink;
  logger: Logger;
  /** Called with every event from the feed's start on, in order and without a gap. Must not throw. */
  onEvent(event: FedEvent): void;
  /** Called when the stream started again: the events in between are unknown. */
  onBreak(): void;
}

export interface EventFeed {
  /** The sequence up to which all events were passed on; undefined until NATS answered for the first time. */
  position(): number | undefined;
  /** Asks for the first and the last sequence that the stream keeps. Errors: Unavailable. */
  bounds(): Promise<{ first: number; last: number }>;
  /**
   * Reads the first event of a subject (with wildcards) from a sequence or a time on; undefined if there is
   * none. Errors: Unavailable.
   */
  next(subject: string, from: number | Date): Promise<StoredEvent | undefined>;
  close(): Promise<void>;
}

const REQUEST_MS = 2_000;
/** JetStream has no responder for some milliseconds while NATS reads its configuration again. */
const MAX_TRIES = 4;
const AGAIN_MS = 50;
// JetStream API error: no message found.
const NO_MESSAGE = 10037;
/** How often the stream is asked for events that were not received. */
const CHECK_MS = 2_000;
/**
 * If more events than this are missing after NATS was lost, they are not read one by one: followers get
 * `onBreak`.
 */
const MAX_MISSED_EVENTS = 10_000;
/** The pause after a failure doubles so often, up to six seconds. */
const MAX_FAILURES = 5;

interface StreamAnswer {
  config?: { metadata?: Record<string, string> };
  state?: { first_seq: number; last_seq: number };
}

interface MessageAnswer {
  error?: { err_code: number; description: string };
  message?: { subject: string; seq: number; data?: string; time: string };
}

const EVENTS_PREFIX = EVENTS_SUBJECTS.slice(0, -1);

/**
 * Returns the position of an event that NATS publishes again. Its headers begin with those of the publisher,
 * which may be forged. NATS appends its own, so the last number counts, and the subject is that of the
 * delivery. Undefined where the publisher's headers are malformed: such an event is read from the stream.
 */
function positionIn(message: Msg, feed: string): { sequence: number; subject: string } | undefined {
  let sequence: number;
  try {
    sequence = Number(message.headers?.last("Nats-Sequence"));
  } catch {
    return undefined;
  }
  if (!Number.isSafeInteger(sequence) || sequence < 1) return undefined;
  return { sequence, subject: EVENTS_PREFIX + message.subject.slice(feed.length - 1) };
}

/**
 * Decodes stored bytes; bytes that are no event become an empty one, so that the events after them can be
 * read.
 */
function decodeStored(data: Uint8Array): Event {
  try {
    return Event.decode(data);
  } catch {
    return Event.fromPartial({});
  }
}

/**
 * Follows a whole stream from now on, in order and without a gap. It uses the messages that NATS publishes
 * again after storing them: this needs no consumer, and so no right to create one. Missing events (after NATS
 * was lost, or where a number was left out) are read one by one, like older events. Calls `found` with the
 * number of partitions that the stream names, before a first position is known.
 */
export function startEventFeed(
  options: FeedOptions,
  stream = UNPARTITIONED,
  found: (partitions: number) => void = () => undefined,
): EventFeed {
  const { nats } = options;
  const logger = options.logger.child({ component: "event-feed" });
  const stop = new AbortController();
  let subscription: Subscription | undefined;
  let position: number | undefined;
  let failures = 0;

  const handOut = (sequence: number, subject: string, decode: () => Event): void => {
    position = sequence;
    options.onEvent({ sequence, subject, decode });
  };

  /** Passes on the events after the position, up to and including a sequence. */
  const catchUp = async (last: number): Promise<void> => {
    if (position === undefined || position > last || last - position > MAX_MISSED_EVENTS) {
      if (position !== undefined) options.onBreak();
      position = last;
    }
    while (position < last && !stop.signal.aborted) {
      const stored = await next(EVENTS_SUBJECTS, position + 1);
      if (stored === undefined || stored.sequence > last) position = last;
      else handOut(stored.sequence, stored.subject, () => stored.event);
    }
  };

  /**
   * Ends a subscription that missed an event which the stream has had for a while, or that belongs to an
   * older stream.
   */
  const lookAfter = async (followed: Subscription): Promise<void> => {
    let before = position ?? 0;
    for (;;) {
      await sleepUntil(CHECK_MS, [stop.signal]);
      if (followed.isClosed()) return;
      // The feed may move beyond the answer while the request is under way.
      const asked = position ?? 0;
      const last = await bounds().then(
        (answer) => answer.last,
        () => undefined,
      );
      if (last === undefined) continue;
      if ((position ?? 0) < before || last < asked) return followed.unsubscribe();
      before = last;
    }
  };

  const follow = async (connection: NatsConnection): Promise<void> => {
    const followed = connection.subscribe(stream.feed);
    subscription = followed;
    await connection.flush();
    await catchUp((await bounds()).last);
    const started = position ?? 0;
    failures = 0;
    void lookAfter(followed);
    for await (const message of followed) {
      const found = positionIn(message, stream.feed);
      // Events stored before the stream was asked for its end were passed on above. A message without a
      // position is read before the next one, or by the periodic check of the end.
      if (found === undefined || found.sequence <= started) continue;
      if (found.sequence <= (position ?? 0)) throw new Error("the stream started again with lower sequences");
      await catchUp(found.sequence - 1);
      handOut(found.sequence, found.subject, () => Event.decode(message.data));
    }
  };

  /**
   * Ends the subscription when the connection breaks: messages in transit are lost, and the next one starts
   * after those that arrived.
   */
  const endOnDisconnect = async (connection: NatsConnection, ended: AbortSignal): Promise<void> => {
    for await (const { type } of connection.status()) {
      if (ended.aborted) return;
      if (type === Events.Disconnect) return subscription?.unsubscribe();
    }
  };

  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const connection = await nats.connected(stop.signal);
      if (connection === undefined) return;
      const ended = new AbortController();
      void endOnDisconnect(connection, ended.signal).catch(() => undefined);
      try {
        await follow(connection);
      } catch (err) {
        failures = Math.min(failures + 1, MAX_FAILURES);
        if (!stop.signal.aborted) logger.warn({ err }, "cannot follow events; will retry");
      }
      ended.abort();
      subscription?.unsubscribe();
      await sleepUntil(200 * 2 ** failures, [stop.signal]);
    }
  };

  const online = (): NatsConnection => {
    const connection = nats.current();
    if (connection === undefined) throw new AppError("Unavailable", { retryAfterSeconds: 2 });
    return connection;
  };
  const ask = async <T>(subject: string, payload: string): Promise<T> => {
    for (let tries = 1; ; tries += 1) {
      const connection = online();
      try {
        return (await connection.request(subject, payload, { timeout: REQUEST_MS })).json<T>();
      } catch (cause) {
        const hasNoResponder = (cause as { code?: string }).code === ErrorCode.NoResponders;
        if (!hasNoResponder || tries === MAX_TRIES) throw new AppError("Unavailable", { retryAfterSeconds: 2, cause });
        await sleepUntil(AGAIN_MS, [stop.signal]);
      }
    }
  };

  const bounds = async () => {
    const { config, state } = await ask<StreamAnswer>(`${API_PREFIX}.STREAM.INFO.${stream.name}`, "");
    if (config === undefined || state === undefined) throw new AppError("Unavailable", { retryAfterSeconds: 2 });
    found(partitionsIn(config));
    return { first: state.first_seq, last: state.last_seq };
  };
  const next = async (subject: string, from: number | Date): Promise<StoredEvent | undefined> => {
    const place = typeof from === "number" ? { seq: from } : { start_time: from.toISOString() };
    const { error, message } = await ask<MessageAnswer>(
      `${API_PREFIX}.STREAM.MSG.GET.${stream.name}`,
      JSON.stringify({ ...place, next_by_subj: subject }),
    );
    if (error?.err_code === NO_MESSAGE) return undefined;
    if (message === undefined) throw new AppError("Unavailable", { retryAfterSeconds: 2 });
    const event = decodeStored(Buffer.from(message.data ?? "", "base64"));
    return { sequence: message.seq, subject: message.subject, storedAt: new Date(message.time), event };
  };
  const finished = run();

  return {
    position: () => position,
    bounds,
    next,
    async close() {
      stop.abort();
      subscription?.unsubscribe();
      await finished;
    },
  };
}

/**
 * Follows all events: with partitions each stream by a feed of its own, also where NATS gets them later.
 * `of` returns the feed that has an account's events.
 */
export function startEventFeeds(options: FeedOptions): { of(accountId: string): EventFeed; close(): Promise<void> } {
  const logger = options.logger.child({ component: "event-feed" });
  let partitions = 1;
  let isClosed = false;
  let isReported = false;

  /** Passes on a partition's event. Where NATS chose another partition than we do, devices miss events. */
  const handOut = (partition: number, event: FedEvent): void => {
    if (!isReported && partitionOf(event.subject.split(".")[3] ?? "", partitions) !== partition) {
      isReported = true;
      logger.error("devices miss events: accounts.conf of NATS has another number of partitions than the set-up");
    }
    options.onEvent(event);
  };
  /** Follows the partitions instead. Devices continue from their last event. */
  const split = (found: number): void => {
    // The number changes once.
    if (isClosed || found === 1 || partitions > 1) return;
    partitions = found;
    const before = feeds;
    feeds = partitionStreams(found).map((stream, partition) =>
      startEventFeed({ ...options, onEvent: (event) => handOut(partition, event) }, stream),
    );
    options.onBreak();
    for (const feed of before) void feed.close();
  };
  let feeds = [startEventFeed(options, UNPARTITIONED, split)];
  return {
    of: (accountId) => feeds[partitionOf(accountId, partitions)]!,
    async close() {
      isClosed = true;
      await Promise.all(feeds.map((feed) => feed.close()));
    },
  };
}
