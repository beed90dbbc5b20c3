import { describe, expect, it, vi } from "vitest";
import { CountersignClient } from "./countersign-client.ts";
import { EventTransportError } from "./event-transport.ts";
import type { EventOptions } from "./events.ts";
import { generateDeviceKey } from "./node/device-key.ts";

const deviceKey = generateDeviceKey();
const credentials = { accessToken: "access-1", refreshToken: "refresh-1" };
const next = { accessToken: "access-2", refreshToken: "refresh-2" };
const problem = (status: number, error: string, headers = {}) =>
  new Response(`{"error":"${error}"}`, { status, headers });

/** Returns a stream that brings these pieces, and then ends or stays. */
function stream(pieces: string[], signal?: AbortSignal) {
  return new Response(
    new ReadableStream({
      start(controller) {
        signal?.addEventListener("abort", () => controller.error(signal.reason));
        for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
        if (signal === undefined) controller.close();
      },
    }),
  );
}

function follow(
  options: Pick<EventOptions, "signal" | "lastEventId" | "silenceMs" | "onConnection">,
  ...answers: ((signal: AbortSignal) => Response)[]
) {
  const seen: Headers[] = [];
  const fetch = async (input: string | URL | Request, init?: RequestInit) => {
    if (String(input).endsWith("/auth/v1/token/refresh")) return Response.json({ credentials: next });
    seen.push(new Headers(init?.headers));
    const answer = answers.shift();
    if (answer === undefined) throw new TypeError("no network");
    return answer(init!.signal!);
  };
  const client = new CountersignClient({ baseUrl: "http://gateway.test", deviceKey, fetch, credentials });
  return { seen, events: client.events(options) };
}

async function take(events: AsyncIterable<{ id: string; type: string; data: unknown }>, count: number) {
  const taken = [];
  for await (const event of events) {
    taken.push(event);
    if (taken.length === count) return taken;
  }
  return taken;
}

describe("events", () => {
  it("are refused where fetch has no streams, and the app gave no other way", async () => {
    vi.stubGlobal("ReadableStream", undefined);
    try {
      const client = new CountersignClient({ baseUrl: "http://gateway.test", deviceKey, credentials });
      await expect(client.events().next()).rejects.toThrow(EventTransportError);
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it("are read across pieces, with comments and ids between them", async () => {
    const pieces = [
      "retry: 1\n\n",
      ": alive\n\nid: 4\n\nid: 5\nevent: device.upd",
      'ated\ndata: {"deviceId":"é"}\n',
      "\n:\n\n",
    ];
    const { events, seen } = follow({}, (signal) => stream(pieces, signal));
    expect(await take(events, 1)).toEqual([{ id: "5", type: "device.updated", data: { deviceId: "é" } }]);
    expect(seen[0]!.get("accept")).toBe("text/event-stream");
    expect(seen[0]!.get("authorization")).toBe("Bearer access-1");
    expect(seen[0]!.has("last-event-id")).toBe(false);
  });

  it("go on from the last id when the connection ends, and without an event too", async () => {
    const { events, seen } = follow(
      { lastEventId: "2" },
      () => stream(["retry: 1\n\nid: 3\nevent: a\ndata: {}\n\n"]),
      () => stream(["id: 9\n\n", "id: 10\nevent: lost\ndata: {}"]),
      () => problem(503, "Unavailable"),
      (signal) => stream(["id: 10\nevent: b\ndata: {}\n\n"], signal),
    );
    expect(await take(events, 2)).toEqual([
      { id: "3", type: "unknown", name: "a", data: {} },
      { id: "10", type: "unknown", name: "b", data: {} },
    ]);
    expect(seen.map((headers) => headers.get("last-event-id"))).toEqual(["2", "3", "9", "9"]);
  });

  it("report when they are connected, and when no longer", async () => {
    const reported: boolean[] = [];
    const { events } = follow(
      { onConnection: (isConnected) => reported.push(isConnected) },
      () => stream(["retry: 1\n\n"]),
      () => problem(503, "Unavailable"),
      (signal) => stream(["id: 1\nevent: a\ndata: {}\n\n"], signal),
    );
    await events.next();
    expect(reported).toEqual([true, false, true]);
    await events.return();
    expect(reported).toEqual([true, false, true, false]);
  });

  it("go on where the app's own listener of the connection fails, whose error is reported", async () => {
    const reported = vi.spyOn(console, "error").mockImplementation(() => {});
    try {
      const { events, seen } = follow(
        { onConnection: () => (undefined as unknown as { show(): void }).show() },
        (signal) => stream(["id: 1\nevent: a\ndata: {}\n\n"], signal),
      );
      expect(await take(events, 1)).toMatchObject([{ id: "1" }]);
      expect(seen).toHaveLength(1);
      expect(reported.mock.calls).toEqual([[expect.any(TypeError)], [expect.any(TypeError)]]);
    } finally {
      reported.mockRestore();
    }
  });

  it("refresh an expired token", async () => {
    const { events, seen } = follow(
      {},
      () => problem(401, "AccessTokenExpired"),
      (signal) => stream(["id: 1\nevent: a\ndata: {}\n\n"], signal),
    );
    expect(await take(events, 1)).toHaveLength(1);
    expect(seen[1]!.get("authorization")).toBe("Bearer access-2");
  });

  it("go on after an answer that is not the service's, of a load balancer for example", async () => {
    const { events } = follow(
      {},
      () => stream(["retry: 1\n\n"]),
      () => new Response("default backend - 404", { status: 404 }),
      (signal) => stream(["id: 1\nevent: a\ndata: {}\n\n"], signal),
    );
    expect(await take(events, 1)).toHaveLength(1);
  });

  it("wait as long as the server asks, also longer than a timer can", async () => {
    const abort = new AbortController();
    const later = () => problem(503, "Unavailable", { "retry-after": "99999999" });
    const { events, seen } = follow({ signal: abort.signal }, later, later, later);
    setTimeout(() => abort.abort(), 50);
    expect(await take(events, 1)).toEqual([]);
    expect(seen).toHaveLength(1);
  });

  it("throw when the session is over", async () => {
    const { events } = follow({}, () => problem(401, "InvalidAccessToken"));
    await expect(take(events, 1)).rejects.toMatchObject({ status: 401, error: "InvalidAccessToken" });
  });

  it("give up a connection that is silent", async () => {
    const { events, seen } = follow(
      { silenceMs: 30 },
      (signal) => stream(["retry: 1\n\n"], signal),
      (signal) => stream(["id: 1\nevent: a\ndata: {}\n\n"], signal),
    );
    expect(await take(events, 1)).toHaveLength(1);
    expect(seen).toHaveLength(2);
  });

  it("end with the signal, while reading and while waiting", async () => {
    for (const answers of [[(signal: AbortSignal) => stream(["id: 1\n\n"], signal)], []]) {
      const abort = new AbortController();
      const { events } = follow({ signal: abort.signal }, ...answers);
      setTimeout(() => abort.abort(), 50);
      expect(await take(events, 1)).toEqual([]);
    }
  });
});
