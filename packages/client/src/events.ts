import type { AccountEventData } from "@countersign/http-api/events.ts";
import { EventTransportError } from "./event-transport.ts";
import { ProblemError } from "./problem-error.ts";
import { callListener } from "./report-error.ts";
import { readServerSentEvents } from "./server-sent-events.ts";
import { sleep } from "./sleep.ts";

/**
 * One event of the account. Its `type` says which `data` it has; `data` holds ids and states only, the other
 * methods return the resources themselves. Events of a later server are of type `unknown`.
 * @example
 * const show = (event: AccountEvent) => (event.type === "device.updated" ? event.data.deviceId : event.id);
 */
export type AccountEvent =
  | {
      [Type in keyof AccountEventData]: { id: string; type: Type; data: AccountEventData[Type] };
    }[keyof AccountEventData]
  | { id: string; type: "unknown"; name: string; data: Record<string, unknown> };

/** Known types: the compiler compares them with the list of the server. */
const KNOWN: Record<keyof AccountEventData, true> = {
  "two-factor.requested": true,
  "two-factor.approved": true,
  "two-factor.rejected": true,
  "two-factor.expired": true,
  "two-factor.finished": true,
  "two-factor.failed": true,
  "key.added": true,
  "key.revoked": true,
  "key.discovered": true,
  "chain.alert": true,
  "time-lock.started": true,
  "time-lock.cancelled": true,
  "device.updated": true,
  "account.updated": true,
  "session.ended": true,
  "stream.reset": true,
};

function toEvent(id: string, name: string, data: Record<string, unknown>): AccountEvent {
  if (Object.hasOwn(KNOWN, name)) return { id, type: name, data } as unknown as AccountEvent;
  return { id, type: "unknown", name, data };
}

/** Options of `client.events`. */
export interface EventOptions {
  /** The id of the last event that was received; without it the stream starts now. */
  lastEventId?: string;
  /** Ends the iteration. */
  signal?: AbortSignal;
  /**
   * Milliseconds without any byte after which the connection counts as lost. Default: three of the server's
   * heartbeats.
   */
  silenceMs?: number;
  /** Called with true when the server answers, and with false when that connection is lost or ended. */
  onConnection?(isConnected: boolean): unknown;
}

type Open = (headers: Record<string, string>, signal: AbortSignal) => Promise<AsyncIterable<string>>;

const SILENCE_MS = 45_000;
const FIRST_RETRY_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/** Returns whether the same request may succeed later: true except for a rejection by the service itself. */
function passes(error: unknown): boolean {
  if (error instanceof EventTransportError) return false;
  if (!(error instanceof ProblemError) || error.error === "Unknown") return true;
  return error.status >= 500 || error.status === 429 || error.status === 408;
}

/** Follows a stream of events across connections. Throws errors that a retry cannot fix. */
export async function* followEvents(open: Open, options: EventOptions): AsyncGenerator<AccountEvent, void> {
  const { signal } = options;
  const over = () => signal?.aborted === true;
  let lastEventId = options.lastEventId ?? "";
  let retryMs = FIRST_RETRY_MS;
  let failures = 0;
  while (!over()) {
    let waitMs = 0;
    let isConnected = false;
    const connection = new AbortController();
    const abort = () => connection.abort();
    signal?.addEventListener("abort", abort, { once: true });
    try {
      const alive = deadline(options.silenceMs ?? SILENCE_MS, abort);
      try {
        const text = await open(lastEventId === "" ? {} : { "last-event-id": lastEventId }, connection.signal);
        isConnected = true;
        callListener(() => options.onConnection?.(true));
        for await (const message of readServerSentEvents(text, alive.renew)) {
          failures = 0;
          retryMs = message.retryMs ?? retryMs;
          lastEventId = message.id ?? lastEventId;
          if (message.data !== "") yield toEvent(lastEventId, message.type, JSON.parse(message.data));
        }
      } finally {
        alive.stop();
      }
    } catch (error) {
      if (over()) return;
      if (!passes(error)) throw error;
      waitMs = error instanceof ProblemError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
    } finally {
      signal?.removeEventListener("abort", abort);
      connection.abort();
      if (isConnected) callListener(() => options.onConnection?.(false));
    }
    const backoffMs = Math.min(LONGEST_WAIT_MS, retryMs * 2 ** Math.min(failures, 10)) * (0.5 + Math.random() / 2);
    failures += 1;
    await sleep(Math.max(waitMs, backoffMs), signal);
  }
}

function deadline(milliseconds: number, onSilence: () => void) {
  let timer = setTimeout(onSilence, milliseconds);
  return {
    renew() {
      clearTimeout(timer);
      timer = setTimeout(onSilence, milliseconds);
    },
    stop: () => clearTimeout(timer),
  };
}
