import { AppError } from "@countersign/core";
import type { FedEvent } from "@countersign/events";
import { type AccountEvent, subjectParts, toAccountEvent } from "./account-event.ts";

/** One stream's place in the fan-out. */
interface Watcher {
  /**
   * The next event; undefined once the watcher was closed. Errors: Unavailable (too slow, or the server
   * stops).
   */
  next(): Promise<AccountEvent | undefined>;
  close(): void;
}

export interface WatchersOptions {
  /** Streams of one session in this process: a stolen one takes no place from the account's others. */
  maxPerSession: number;
  /** Events that a slow reader may leave unread before it is dropped. */
  maxWaiting: number;
}

export interface Watchers {
  /** Errors: RateLimited, Unavailable once everything was closed. */
  add(accountId: string, sessionId: string): Watcher;
  /** Passes an event to the watchers of its account. */
  publish(fed: FedEvent): void;
  /** Ends all streams; clients resume with their last id. `forGood`: also refuses new ones. */
  endAll(forGood?: boolean): void;
  count(): number;
}

const unavailable = (detail: string) => new AppError("Unavailable", { detail, retryAfterSeconds: 1 });

function createWatcher(maxWaiting: number, onClose: () => void) {
  let waiting: AccountEvent[] = [];
  let wake: (() => void) | undefined;
  let end: AppError | undefined;
  let closed = false;
  const finish = (error?: AppError) => {
    if (closed) return;
    closed = true;
    end = error;
    waiting = [];
    onClose();
    wake?.();
  };
  return {
    push(event: AccountEvent): void {
      waiting.push(event);
      if (waiting.length > maxWaiting) finish(unavailable("The stream was read too slowly"));
      wake?.();
    },
    fail: finish,
    watcher: {
      async next() {
        while (!closed && waiting.length === 0) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          wake = undefined;
        }
        if (end !== undefined) throw end;
        return waiting.shift();
      },
      close: () => finish(),
    } satisfies Watcher,
  };
}

/**
 * Keeps the watchers of each account in this process. One feed serves them all: a stream costs a queue, not
 * NATS.
 */
export function createWatchers({ maxPerSession, maxWaiting }: WatchersOptions): Watchers {
  type Entry = ReturnType<typeof createWatcher>;
  /** The streams of each account, with their sessions. */
  const accounts = new Map<string, Map<Entry, string>>();
  let closed = false;
  let count = 0;
  return {
    add(accountId, sessionId) {
      if (closed) throw unavailable("This server is stopping");
      const entries = accounts.get(accountId) ?? new Map<Entry, string>();
      const own = [...entries.values()].filter((each) => each === sessionId);
      if (own.length >= maxPerSession) throw new AppError("RateLimited", { retryAfterSeconds: 10 });
      const entry = createWatcher(maxWaiting, () => {
        count -= 1;
        entries.delete(entry);
        if (entries.size === 0 && accounts.get(accountId) === entries) accounts.delete(accountId);
      });
      entries.set(entry, sessionId);
      accounts.set(accountId, entries);
      count += 1;
      return entry.watcher;
    },
    publish({ sequence, subject, decode }) {
      const entries = accounts.get(subjectParts(subject)?.accountId ?? "");
      if (entries === undefined) return;
      let event: AccountEvent | undefined;
      try {
        event = toAccountEvent(sequence, subject, decode());
      } catch {
        // Not an event; the durable consumers report it.
        return;
      }
      if (event !== undefined) for (const entry of [...entries.keys()]) entry.push(event);
    },
    endAll(forGood = false) {
      closed ||= forGood;
      for (const entries of [...accounts.values()]) {
        for (const entry of [...entries.keys()]) entry.fail(unavailable("The stream was interrupted; resume it"));
      }
    },
    count: () => count,
  };
}
