import { AppError, sleepUntil } from "@countersign/core";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { Events, type Msg, type NatsConnection, type Subscription } from "nats";
import { API_PREFIX, FED_SUBJECTS } from "./consumers.ts";
import { linkNats, type NatsOptions } from "./nats.ts";
import { EVENTS_STREAM, EVENTS_SUBJECTS } from "./stream.ts";

/** An event at its place in the stream. */
export interface StoredEvent {
  /** The stream's own number: rises with every event, never twice the same. */
  sequence: number;
  subject: string;
  /** When NATS stored it. */
  storedAt: Date;
  /** Empty, of no account, where what is stored is no event. */
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

const REQUEST_MS = 2_000;
// JetStream API error: no message found.
const NO_MESSAGE = 10037;
/** How often the stream is asked whether something came that was not heard. */
const LOOK_MS = 2_000;
/** More events than this are not read one by one after a loss of NATS: whoever follows is told that some are missing. */
const MOST_MISSED = 10_000;

interface MessageAnswer {
  error?: { err_code: number; description: string };
  message?: { subject: string; seq: number; data?: string; time: string };
}

const FED_PREFIX = FED_SUBJECTS.slice(0, -1);
const EVENTS_PREFIX = EVENTS_SUBJECTS.slice(0, -1);

/**
 * The place of an event that NATS publishes again. Its headers begin with those that the publisher wrote, whatever they pretend: NATS appends its own, so the last number counts, and
 * the subject is the one of the delivery. Undefined where the publisher's headers are none: such an event is read from the stream.
 */
function placeOf(message: Msg): { sequence: number; subject: string } | undefined {
  let sequence: number;
  try {
    sequence = Number(message.headers?.last("Nats-Sequence"));
  } catch {
    return undefined;
  }
  if (!Number.isSafeInteger(sequence) || sequence < 1) return undefined;
  return { sequence, subject: EVENTS_PREFIX + message.subject.slice(FED_PREFIX.length) };
}

/** Bytes that are no event tell nothing, and stop nobody from reading what comes behind them. */
function decodeStored(data: Uint8Array): Event {
  try {
    return Event.decode(data);
  } catch {
    return Event.fromPartial({});
  }
}

/**
 * Follows the whole stream from now on, in order and without a gap, by what NATS publishes again once it is stored: that needs no consumer, and so no right to make one. What is missing,
 * after a loss of NATS or by a number that was left out, is read one by one, as older events are.
 */
export function startEventFeed(options: FeedOptions): EventFeed {
  const logger = options.logger.child({ component: "event-feed" });
  const stop = new AbortController();
  const nats = linkNats({ ...options, logger });
  let subscription: Subscription | undefined;
  let position: number | undefined;

  const handOut = (sequence: number, subject: string, decode: () => Event): void => {
    position = sequence;
    options.onEvent({ sequence, subject, decode });
  };

  /** Hands out what stands behind the position, up to a sequence, which counts as handed out then. */
  const catchUp = async (last: number): Promise<void> => {
    if (position === undefined || position > last || last - position > MOST_MISSED) {
      if (position !== undefined) options.onBreak();
      position = last;
    }
    while (position < last && !stop.signal.aborted) {
      const stored = await next(EVENTS_SUBJECTS, position + 1);
      if (stored === undefined || stored.sequence > last) position = last;
      else handOut(stored.sequence, stored.subject, () => stored.event);
    }
  };

  /** Ends a subscription that has not heard of what the stream had a while ago, or had of a stream that is no more. */
  const lookAfter = async (followed: Subscription): Promise<void> => {
    let before = position ?? 0;
    for (;;) {
      await sleepUntil(LOOK_MS, [stop.signal]);
      if (followed.isClosed()) return;
      // The feed may go on beyond the answer while that is under way.
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
    const followed = connection.subscribe(FED_SUBJECTS);
    subscription = followed;
    await connection.flush();
    await catchUp((await bounds()).last);
    const started = position ?? 0;
    void lookAfter(followed);
    for await (const message of followed) {
      const place = placeOf(message);
      // What was stored before the stream was asked for its end was handed out above. What tells no place is read before the next one, or when the end is looked after.
      if (place === undefined || place.sequence <= started) continue;
      if (place.sequence <= (position ?? 0)) throw new Error("the stream began anew");
      await catchUp(place.sequence - 1);
      handOut(place.sequence, place.subject, () => Event.decode(message.data));
    }
  };

  /** What was under way when the connection broke is lost to this subscription: the next one begins behind what arrived. */
  const endOnDisconnect = async (connection: NatsConnection, ended: AbortSignal): Promise<void> => {
    for await (const { type } of connection.status()) {
      if (ended.aborted) return;
      if (type === Events.Disconnect) return subscription?.unsubscribe();
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
      subscription?.unsubscribe();
      await sleepUntil(200, [stop.signal]);
    }
  };

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

  const bounds = async () => {
    const { state } = await ask<{ state?: { first_seq: number; last_seq: number } }>(
      `${API_PREFIX}.STREAM.INFO.${EVENTS_STREAM}`,
      "",
    );
    if (state === undefined) throw new AppError("Unavailable", { retryAfterSeconds: 2 });
    return { first: state.first_seq, last: state.last_seq };
  };
  const next = async (subject: string, from: number | Date): Promise<StoredEvent | undefined> => {
    const place = typeof from === "number" ? { seq: from } : { start_time: from.toISOString() };
    const { error, message } = await ask<MessageAnswer>(
      `${API_PREFIX}.STREAM.MSG.GET.${EVENTS_STREAM}`,
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
      await nats.close();
    },
  };
}
