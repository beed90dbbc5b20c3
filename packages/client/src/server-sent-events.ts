/** One block of a stream; members that it did not name are absent. */
export interface ServerSentEvent {
  id?: string;
  /** "message" where the stream named none. */
  type: string;
  /** "" where there was none: then it is no event, only an id or a retry. */
  data: string;
  retryMs?: number;
}

const MAX_BLOCK = 1024 * 1024;

/**
 * Reads a stream of server-sent events; `onBytes` is called for all bytes that arrive, comments included.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export async function* readServerSentEvents(
  response: Response,
  onBytes: () => void,
): AsyncGenerator<ServerSentEvent, void> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let buffered = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      // A block without an empty line after it is incomplete.
      if (done) return;
      onBytes();
      buffered += decoder.decode(value, { stream: true });
      const blocks = buffered.replaceAll("\r\n", "\n").split("\n\n");
      buffered = blocks.pop() ?? "";
      if (buffered.length > MAX_BLOCK) throw new Error("an event is too large");
      for (const block of blocks) {
        const event = parseBlock(block);
        if (event !== undefined) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parseBlock(block: string): ServerSentEvent | undefined {
  const data: string[] = [];
  const event: ServerSentEvent = { type: "message", data: "" };
  let named = false;
  for (const line of block.split("\n")) {
    if (line === "" || line.startsWith(":")) continue;
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    named = true;
    if (field === "data") data.push(value);
    else if (field === "event") event.type = value;
    else if (field === "id" && !value.includes("\0")) event.id = value;
    else if (field === "retry" && /^\d{1,6}$/.test(value)) event.retryMs = Number(value);
  }
  return named ? { ...event, data: data.join("\n") } : undefined;
}
