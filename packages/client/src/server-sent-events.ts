import { createParser } from "eventsource-parser";

/** A field or an event of a stream; members that it did not name are absent. */
export interface ServerSentEvent {
  id?: string;
  /** "message" where the stream named none. */
  type: string;
  /** "" for an id or a retry, which come on their own. */
  data: string;
  retryMs?: number;
}

/** Characters of an incomplete event: a stream that sends more without an end is dropped. */
const MAX_BUFFERED = 1024 * 1024;

/**
 * Reads a stream of server-sent events; `onBytes` is called for all bytes that arrive, comments included. An
 * event without an empty line after it is incomplete and left out.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export async function* readServerSentEvents(
  text: AsyncIterable<string>,
  onBytes: () => void,
): AsyncGenerator<ServerSentEvent, void> {
  let parsed: ServerSentEvent[] = [];
  const parser = createParser({
    maxBufferSize: MAX_BUFFERED,
    onId: (id) => parsed.push({ id, type: "message", data: "" }),
    onRetry: (retryMs) => parsed.push({ retryMs, type: "message", data: "" }),
    onEvent: ({ event = "message", data }) => parsed.push({ type: event, data }),
    onError(error) {
      if (error.type === "max-buffer-size-exceeded") throw error;
    },
  });
  for await (const piece of text) {
    onBytes();
    parser.feed(piece);
    yield* parsed;
    parsed = [];
  }
}
