import { CountersignClient, type ProblemError } from "@countersign/client";
import { generateDeviceKey } from "@countersign/client/node";
import { describe, expect, it } from "vitest";
import { type Xhr, xhrEvents } from "./xhr-events.ts";

/** An XMLHttpRequest as React Native's: the whole text so far, no streams. */
class FakeXhr implements Xhr {
  static readonly requests: FakeXhr[] = [];
  readyState = 0;
  status = 0;
  responseText = "";
  aborted = false;
  url = "";
  readonly headers: Record<string, string> = {};
  onreadystatechange: (() => void) | null = null;
  onprogress: (() => void) | null = null;
  onerror: (() => void) | null = null;
  constructor() {
    FakeXhr.requests.push(this);
  }
  open(_method: string, url: string) {
    this.url = url;
  }
  setRequestHeader(name: string, value: string) {
    this.headers[name] = value;
  }
  getResponseHeader = (name: string) => (name === "date" ? "Mon, 23 Nov 2026 12:00:00 GMT" : null);
  send() {}
  abort() {
    this.aborted = true;
  }
  answer(status: number) {
    this.status = status;
    this.#move(2);
  }
  write(text: string) {
    this.responseText += text;
    this.onprogress?.();
  }
  end() {
    this.#move(4);
  }
  #move(state: number) {
    this.readyState = state;
    this.onreadystatechange?.();
  }
}

const nextRequest = async (count: number): Promise<FakeXhr> => {
  while (FakeXhr.requests.length < count) await new Promise((resolve) => setImmediate(resolve));
  return FakeXhr.requests[count - 1]!;
};

function newClient() {
  FakeXhr.requests.length = 0;
  return new CountersignClient({
    baseUrl: "http://gateway.test",
    deviceKey: generateDeviceKey(),
    credentials: { accessToken: "access-1", refreshToken: "refresh-1" },
    fetch: () => Promise.reject(new TypeError("no fetch")),
    eventTransport: xhrEvents(FakeXhr),
  });
}

const event = (id: number) => `id: ${id}\nevent: device.updated\ndata: {"deviceId":"d${id}"}\n\n`;

describe("events by XMLHttpRequest", () => {
  it("come piece by piece, and go on from the last one after the connection ended", async () => {
    const events = newClient().events();
    const first = events.next();
    const request = await nextRequest(1);
    expect(request.url).toBe("http://gateway.test/device/v1/events");
    expect(request.headers).toMatchObject({ accept: "text/event-stream", authorization: "Bearer access-1" });
    request.answer(200);
    request.write(`retry: 1\n\n${event(1).slice(0, 20)}`);
    request.write(event(1).slice(20) + event(2));
    expect((await first).value).toMatchObject({ id: "1", type: "device.updated", data: { deviceId: "d1" } });
    expect((await events.next()).value).toMatchObject({ id: "2" });
    const third = events.next();
    request.end();
    const second = await nextRequest(2);
    expect(second.headers["last-event-id"]).toBe("2");
    second.answer(200);
    second.write(event(3));
    expect((await third).value).toMatchObject({ id: "3" });
    await events.return();
    expect(second.aborted).toBe(true);
  });

  it("begin again after half a megabyte, which a phone would keep in memory", async () => {
    const events = newClient().events();
    const first = events.next();
    const request = await nextRequest(1);
    request.answer(200);
    request.write(`retry: 1\n\n: ${"x".repeat(600_000)}\n\n${event(1)}`);
    await first;
    const second = events.next();
    const next = await nextRequest(2);
    expect(request.aborted).toBe(true);
    next.answer(200);
    next.write(event(2));
    expect((await second).value).toMatchObject({ id: "2" });
    await events.return();
  });

  it("reject with the server's problem", async () => {
    const events = newClient().events();
    const first = events.next().catch((error: ProblemError) => error);
    const request = await nextRequest(1);
    request.status = 403;
    request.answer(403);
    request.write('{"error":"InsufficientScope"}');
    request.end();
    expect(await first).toMatchObject({ status: 403, error: "InsufficientScope" });
  });

  it("end with the signal, also before an answer, and try again without a connection", async () => {
    const abort = new AbortController();
    const events = newClient().events({ signal: abort.signal });
    const first = events.next();
    (await nextRequest(1)).onerror?.();
    const request = await nextRequest(2);
    abort.abort();
    expect(await first).toEqual({ value: undefined, done: true });
    expect(request.aborted).toBe(true);
  }, 10_000);
});
