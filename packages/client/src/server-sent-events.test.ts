import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fetchEvents } from "./event-transport.ts";
import { readServerSentEvents, type ServerSentEvent } from "./server-sent-events.ts";

/** Returns the events read from a stream of these pieces. */
async function read(pieces: (string | Uint8Array)[]): Promise<ServerSentEvent[]> {
  const body = new ReadableStream({
    start(controller) {
      for (const piece of pieces)
        controller.enqueue(typeof piece === "string" ? new TextEncoder().encode(piece) : piece);
      controller.close();
    },
  });
  const answer = fetchEvents(async () => new Response(body))({
    url: "http://gateway.test",
    headers: {},
    signal: new AbortController().signal,
  });
  const events: ServerSentEvent[] = [];
  for await (const event of readServerSentEvents((await answer).text, () => undefined)) events.push(event);
  return events;
}

describe("server-sent events", () => {
  it("are the same wherever the stream is cut, with all three line ends", async () => {
    for (const end of ["\n", "\r\n", "\r"]) {
      const lines = [
        "retry: 20",
        "",
        ": hi",
        "id: 4",
        "",
        "id: 5",
        "event: ä",
        "data: {",
        "data:}",
        "",
        "data",
        "",
        "",
      ];
      const bytes = new TextEncoder().encode(`${lines.join(end)}id: 6${end}`);
      const expected = [
        { type: "message", data: "", retryMs: 20 },
        { type: "message", data: "", id: "4" },
        { type: "message", data: "", id: "5" },
        { type: "ä", data: "{\n}" },
        { type: "message", data: "" },
      ];
      await fc.assert(
        fc.asyncProperty(fc.array(fc.nat(bytes.length)), async (cuts) => {
          const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
          expect(await read(at.slice(1).map((to, i) => bytes.slice(at[i], to)))).toEqual(expected);
        }),
        { numRuns: 50 },
      );
    }
  });

  it.each([
    [
      "a line that does not end",
      [
        "data: ",
        ..."x"
          .repeat(20)
          .split("")
          .map((x) => x.repeat(64 * 1024)),
      ],
    ],
    ["an event that does not end", Array.from({ length: 20 }, () => `data: ${"x".repeat(64 * 1024)}\n`)],
  ])("of more than a mebibyte are refused: %s", async (_, pieces) => {
    await expect(read(pieces)).rejects.toThrow("max buffer size");
  });

  it("leave out what is no field, no number and no id", async () => {
    expect(await read(["nothing: 1\nretry: 1s\nid: a\0b\n\n", "retry\n:\n\n"])).toEqual([]);
  });
});
