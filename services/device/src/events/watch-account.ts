import { AppError, type Clock, HOUR_MS, invalidField, limitPerMinute } from "@countersign/core";
import type { EventFeed } from "@countersign/events";
import { type AccountEvent, accountEventJson, toAccountEvent } from "./account-event.ts";
import { createTurns } from "./turns.ts";
import type { Watchers } from "./watchers.ts";

/** An event for the client; without type and data it only carries the id to resume from. */
interface WatchedEvent {
  id: string;
  type: string;
  dataJson: string;
  occurredAt: Date | undefined;
}

export interface WatchAccount {
  accountId: string;
  sessionId: string;
  /** "" begins now. */
  lastEventId: string;
  /** Aborts when the reader is gone. */
  signal: AbortSignal;
}

type Feed = Pick<EventFeed, "position" | "bounds" | "next">;

export interface WatchAccountOptions {
  feeds: { of(accountId: string): Feed };
  watchers: Pick<Watchers, "add">;
  clock: Clock;
}

/** Concurrent reads of past events: after a restart every client resumes. */
const MAX_CONCURRENT_READS = 32;
/** Of one session and process, since each reads NATS: its tabs resume together, and again after a break. */
const MAX_RESUMES_PER_MINUTE = 120;
/** More events than a person's account has in an hour. */
const MAX_REPLAYED_EVENTS = 1_000;

const place = (sequence: number): WatchedEvent => ({
  id: String(sequence),
  type: "",
  dataJson: "",
  occurredAt: undefined,
});

/** Events may be missing: the client must read again what it shows. */
const reset = (sequence: number): WatchedEvent => ({ ...place(sequence), type: "stream.reset", dataJson: "{}" });

const seen = (event: AccountEvent): WatchedEvent => ({
  id: String(event.sequence),
  type: event.type,
  dataJson: accountEventJson(event),
  occurredAt: event.occurredAt,
});

/**
 * Returns whether a newer session of its device replaced another session: only that session's stream has it.
 */
const isAnothersReplacement = ({ type, data }: AccountEvent, { sessionId }: WatchAccount): boolean =>
  type === "session.ended" && data.cause === "replaced" && data.sessionId !== sessionId;

function parseId(id: string): number {
  const sequence = Number(id);
  if (!/^(0|[1-9]\d{0,15})$/.test(id) || !Number.isSafeInteger(sequence)) {
    throw invalidField("/lastEventId", "is not an event id");
  }
  return sequence;
}

/**
 * Streams an account's events from `lastEventId` on, at most an hour back, then as they happen; each once, in
 * the stream's order. Ends with the session's own session.ended.
 * Errors: InvalidRequest (id), RateLimited, Unavailable (no NATS, slow reader, server stops).
 */
export function watchAccount({ feeds, watchers, clock }: WatchAccountOptions) {
  const inTurn = createTurns(MAX_CONCURRENT_READS);
  const limit = limitPerMinute(clock);

  /** Yields the stored events after `after`. Newer ones are in the watcher's queue already. */
  async function* past(feed: Feed, watch: WatchAccount, after: number, first: number): AsyncGenerator<WatchedEvent> {
    const since = new Date(clock.now().getTime() - HOUR_MS);
    const subject = `cs.v1.*.${watch.accountId}.*`;
    let stored = await inTurn(() => feed.next(subject, after + 1));
    const tooOld = stored !== undefined && stored.storedAt < since;
    if (tooOld || after + 1 < first) {
      yield reset(after);
      if (tooOld) stored = await inTurn(() => feed.next(subject, since));
    }
    for (let count = 0; stored !== undefined; count += 1) {
      const { sequence } = stored;
      if (count === MAX_REPLAYED_EVENTS) return yield reset(sequence - 1);
      const event = toAccountEvent(sequence, stored.subject, stored.event);
      if (event !== undefined && stored.storedAt >= since && !isAnothersReplacement(event, watch)) yield seen(event);
      stored = await inTurn(() => feed.next(subject, sequence + 1));
    }
  }

  return async function* (watch: WatchAccount): AsyncGenerator<WatchedEvent> {
    const after = watch.lastEventId === "" ? undefined : parseId(watch.lastEventId);
    if (after !== undefined) limit(watch.sessionId, MAX_RESUMES_PER_MINUTE);
    const feed = feeds.of(watch.accountId);
    const watcher = watchers.add(watch.accountId, watch.sessionId);
    watch.signal.addEventListener("abort", watcher.close, { once: true });
    try {
      // Taken before anything is read, so that every later event is in the queue.
      let position = feed.position();
      if (position === undefined) throw new AppError("Unavailable", { retryAfterSeconds: 2 });
      if (after !== undefined) {
        // Another replica's feed may have been ahead of this one's.
        const { first, last } = await inTurn(() => feed.bounds());
        if (after > last) yield reset(position);
        else {
          position = Math.max(position, after);
          for await (const event of past(feed, watch, after, first)) {
            if (watch.signal.aborted) return;
            yield event;
            position = Math.max(position, Number(event.id));
          }
        }
      }
      yield place(position);
      for (let event = await watcher.next(); event !== undefined; event = await watcher.next()) {
        if (event.sequence <= position) continue;
        position = event.sequence;
        if (isAnothersReplacement(event, watch)) continue;
        yield seen(event);
        if (event.type === "session.ended" && event.data.sessionId === watch.sessionId) return;
      }
    } finally {
      watch.signal.removeEventListener("abort", watcher.close);
      watcher.close();
    }
  };
}
