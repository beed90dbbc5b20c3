import { decodeUtf8, incompleteUtf8 } from "@countersign/keys";

/** A function like the global `fetch`. */
export type Fetch = typeof globalThis.fetch;

/** The answer to a request for events. */
export interface EventAnswer {
  /** HTTP status. */
  status: number;
  /**
   * Returns a header, or null.
   * @example
   * const transport: EventTransport = async ({ url, headers, signal }) => {
   *   const answer = await fetch(url, { headers, signal });
   *   const text = answer.body!.pipeThrough(new TextDecoderStream()) as unknown as AsyncIterable<string>;
   *   return { status: answer.status, header: (name) => answer.headers.get(name), text };
   * };
   */
  header(name: string): string | null;
  /** The body as it arrives. Ends with the stream; rejects where it breaks. */
  text: AsyncIterable<string>;
}

/**
 * Opens a stream of server-sent events: another way than `fetch` for platforms whose `fetch` has no streams,
 * such as `xhrEvents` of `@countersign/react-native`.
 */
export type EventTransport = (request: {
  url: string;
  headers: Record<string, string>;
  /** Ends the stream. */
  signal: AbortSignal;
}) => Promise<EventAnswer>;

/**
 * Thrown where `fetch` has no streams, as React Native's without Expo: the client needs an `eventTransport`.
 * @example const needsTransport = (error: unknown) => error instanceof EventTransportError;
 */
export class EventTransportError extends Error {
  override readonly name = "EventTransportError";
}

/**
 * Reads events by a `fetch` that streams: a browser's, Node's, or that of `expo/fetch`.
 * @example const client = new CountersignClient({ baseUrl, deviceKey, eventTransport: fetchEvents(fetch) });
 */
export const fetchEvents =
  (fetch: Fetch): EventTransport =>
  async ({ url, headers, signal }) => {
    const response = await fetch(url, { headers, cache: "no-store", redirect: "error", signal });
    return { status: response.status, header: (name) => response.headers.get(name), text: textOf(response) };
  };

/** Returns the transport of an app that gave none: by its `fetch`, or by the platform's if that streams. */
export function defaultEvents(fetch: Fetch | undefined): EventTransport {
  if (fetch !== undefined) return fetchEvents(fetch);
  if (typeof ReadableStream !== "undefined") return fetchEvents(globalThis.fetch.bind(globalThis));
  // React Native's fetch would answer at the end of the stream, which is never.
  return () =>
    Promise.reject(
      new EventTransportError("fetch has no streams here: give the client an eventTransport, such as xhrEvents()"),
    );
}

/** Reads a body as text; a character may arrive in two pieces. */
async function* textOf(response: Response): AsyncGenerator<string, void> {
  if (!response.body) {
    // A problem document may come without a stream.
    yield await response.text();
    return;
  }
  const reader = response.body.getReader();
  let kept = new Uint8Array();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const bytes = new Uint8Array(kept.length + value.length);
      bytes.set(kept);
      bytes.set(value, kept.length);
      const whole = bytes.length - incompleteUtf8(bytes);
      kept = bytes.slice(whole);
      yield decodeUtf8(bytes.subarray(0, whole));
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
