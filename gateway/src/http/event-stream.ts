import { AppError } from "@countersign/core";
import type { Response } from "express";

/** One message of an event stream; without type and data it only sets the id to resume from. */
export interface ServerSentEvent {
  /** One line. */
  id: string;
  /** One line; "" for none. */
  type: string;
  /** One line. */
  data: string;
}

export interface EventStreamOptions {
  /** Milliseconds without a message until a comment is sent, so that proxies keep the connection open. */
  heartbeatMs: number;
  /** Milliseconds to wait for the first message; without one the answer is an error. */
  firstMs: number;
  /** Milliseconds that a client may read nothing before it is dropped. */
  stuckMs: number;
}

/** Milliseconds that clients wait before they connect again. */
const RETRY_MS = 1_000;

/** Returns the wire format: https://html.spec.whatwg.org/multipage/server-sent-events.html. */
function formatEvent({ id, type, data }: ServerSentEvent): string {
  return type === "" ? `id: ${id}\n\n` : `id: ${id}\nevent: ${type}\ndata: ${data}\n\n`;
}

const LAST_EVENT_ID = /^\d{1,20}$/;

/** Returns the id of a Last-Event-ID header; "" without one. Errors: InvalidRequest. */
export function readLastEventId(header: string | string[] | undefined): string {
  if (header === undefined || header === "") return "";
  if (typeof header === "string" && LAST_EVENT_ID.test(header)) return header;
  throw new AppError("InvalidRequest", { detail: "Last-Event-ID is an id of this stream" });
}

/**
 * Answers with server-sent events until the source ends or fails; the source must end when the client goes
 * away. An error before the first message is thrown, for a problem document; a later one ends the stream,
 * and the client receives the error when it connects again.
 */
export async function sendEventStream(
  response: Response,
  source: AsyncIterable<ServerSentEvent>,
  options: EventStreamOptions,
): Promise<void> {
  const iterator = source[Symbol.asyncIterator]();
  let heartbeat: NodeJS.Timeout | undefined;
  try {
    let next: IteratorResult<ServerSentEvent> | undefined = await firstOf(iterator, options.firstMs);
    sendHead(response);
    // No comments are queued for a client that does not read.
    heartbeat = setInterval(() => response.writableNeedDrain || response.write(":\n\n"), options.heartbeatMs);
    while (next !== undefined && next.done !== true) {
      heartbeat.refresh();
      if (!response.write(formatEvent(next.value)) && !(await drained(response, options.stuckMs))) return;
      next = await iterator.next().catch(() => undefined);
    }
  } finally {
    clearInterval(heartbeat);
    // Not awaited: it cancels the RPC, which may be waiting for its next event.
    void iterator.return?.().then(undefined, () => undefined);
    if (response.headersSent) response.end();
  }
}

function sendHead(response: Response): void {
  response.status(200);
  response.set({
    "Content-Type": "text/event-stream; charset=utf-8",
    // A proxy that compresses or buffers would hold events back.
    "Cache-Control": "no-store, no-transform",
    "X-Accel-Buffering": "no",
  });
  response.flushHeaders();
  response.write(`retry: ${RETRY_MS}\n\n`);
}

async function firstOf<T>(iterator: AsyncIterator<T>, firstMs: number): Promise<IteratorResult<T>> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new AppError("DeadlineExceeded")), firstMs);
  try {
    const first = await Promise.race([iterator.next(), late.promise]);
    if (first.done === true) throw new AppError("Unavailable", { retryAfterSeconds: 1 });
    return first;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Waits until the client has read. Returns false, and closes the connection, where it did not in time or is
 * gone.
 */
async function drained(response: Response, stuckMs: number): Promise<boolean> {
  if (response.destroyed) return false;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const onDrain = () => resolve(true);
  const onEnd = () => resolve(false);
  const timer = setTimeout(onEnd, stuckMs);
  response.once("drain", onDrain).once("close", onEnd);
  const taken = await promise;
  clearTimeout(timer);
  response.off("drain", onDrain).off("close", onEnd);
  if (!taken) response.destroy();
  return taken;
}
