import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { AppError } from "@countersign/core";
import express from "express";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";
import { sendEventStream } from "./event-stream.ts";

const PATH = "/device/v1/events";
let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway({ heartbeatMs: 50 });
});
afterEach(() => gateway.stop());

async function open(headers: Record<string, string> = {}) {
  const abort = new AbortController();
  const response = await fetch(gateway.url + PATH, {
    headers: { authorization: "Bearer full", ...headers },
    signal: abort.signal,
  });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  return {
    response,
    abort: () => abort.abort(),
    /** Reads until `wanted` has come; false where the stream ended before. */
    async until(wanted: string): Promise<boolean> {
      while (!text.includes(wanted)) {
        const { value, done } = await reader.read();
        if (done) return false;
        text += value;
      }
      return true;
    },
    text: () => text,
  };
}

const lastCall = () => gateway.calls.at(-1)!;

describe("a stream of events", () => {
  it("has the form of server-sent events, with headers that forbid buffering", async () => {
    const stream = await open({ "accept-encoding": "gzip, br" });
    expect(await stream.until("never")).toBe(false);
    expect(stream.text()).toMatch(
      /^retry: \d+\n\nid: 41\n\nid: 42\nevent: device.updated\ndata: {"deviceId":"[^"]+"}\n\n$/,
    );
    const { headers } = stream.response;
    expect(headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(headers.get("cache-control")).toBe("no-store, no-transform");
    expect(headers.get("x-accel-buffering")).toBe("no");
    expect(headers.has("content-encoding")).toBe(false);
  });

  it("passes Last-Event-ID, request id, token and address on", async () => {
    const stream = await open({ "last-event-id": "17", "x-request-id": "request-44" });
    await stream.until("42");
    expect(lastCall()).toMatchObject({
      request: { lastEventId: "17" },
      options: { onBehalfOf: { requestId: "request-44", rawToken: "full", clientIp: "127.0.0.1" } },
    });
  });

  it.each(["-1", "x", "1 2", "1".repeat(21)])("refuses the id %j", async (id) => {
    const answer = await gateway.send("GET", PATH, { token: "full", headers: { "last-event-id": id } });
    expect(answer).toMatchObject({ status: 400, json: { error: "InvalidRequest" } });
  });

  it("answers a problem where the stream could not begin", async () => {
    gateway.fail(new AppError("Unavailable", { retryAfterSeconds: 2 }));
    const answer = await gateway.send("GET", PATH, { token: "full" });
    expect(answer).toMatchObject({ status: 503, json: { error: "Unavailable" } });
    expect(answer.headers.get("retry-after")).toBe("2");
    expect(answer.headers.get("content-type")).toContain("application/problem+json");
  });

  it("sends a comment after a time without events", async () => {
    gateway.streamed.open = true;
    const stream = await open();
    expect(await stream.until(":\n\n:\n\n")).toBe(true);
    stream.abort();
  });

  it("ends the call behind it when the client goes", async () => {
    gateway.streamed.open = true;
    const stream = await open();
    await stream.until("42");
    expect(lastCall().options.onBehalfOf.signal.aborted).toBe(false);
    stream.abort();
    await expect.poll(() => lastCall().options.onBehalfOf.signal.aborted).toBe(true);
    await expect.poll(() => gateway.samples.at(-1)).toMatchObject({ route: PATH, status: 499 });
  });

  it("ends when the server stops, and takes no new one", async () => {
    gateway.streamed.open = true;
    const stream = await open();
    await stream.until("42");
    gateway.stopping.abort();
    expect(await stream.until("never")).toBe(false);
    expect(lastCall().options.onBehalfOf.signal.aborted).toBe(true);
    await expect.poll(() => gateway.samples.at(-1)).toMatchObject({ status: 200 });
  });

  it("answers HEAD without a stream", async () => {
    const answer = await gateway.send("HEAD", PATH, { token: "full" });
    expect(answer.status).toBe(200);
    expect(gateway.calls).toHaveLength(0);
  });

  it("stops reading from the service while the client does not read", async () => {
    let taken = 0;
    const dataJson = JSON.stringify("x".repeat(10_000));
    gateway.streamed.events = (function* () {
      for (; taken < 10_000; taken++) yield { id: "1", type: "t", dataJson, occurredAt: new Date(0) };
    })() as never;
    const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
    socket.pause();
    socket.write(`GET ${PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer full\r\n\r\n`);
    await expect.poll(() => taken).toBeGreaterThan(0);
    for (let before = 0; before < taken; ) {
      before = taken;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(taken).toBeLessThan(5_000);
    socket.destroy();
    await expect.poll(() => lastCall().options.onBehalfOf.signal.aborted).toBe(true);
  });
});

it("a client that reads nothing is dropped", async () => {
  let ended = false;
  async function* endless() {
    try {
      for (;;) yield { id: "1", type: "t", data: "x".repeat(100_000) };
    } finally {
      ended = true;
    }
  }
  const limits = { heartbeatMs: 20, firstMs: 1_000, stuckMs: 100 };
  const app = express().use((_request, response) => sendEventStream(response, endless(), limits));
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => undefined);
  socket.pause();
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await expect.poll(() => ended).toBe(true);
  await new Promise((resolve) => server.close(resolve));
  socket.destroy();
});

it("is in the OpenAPI document", async () => {
  const { json } = await gateway.send("GET", "/openapi.json");
  const { get } = (json.paths as Record<string, { get: Record<string, unknown> }>)[PATH]!;
  expect(get).toMatchObject({
    parameters: [{ name: "Last-Event-ID", in: "header", required: false }],
    responses: { 200: { content: { "text/event-stream": {} } }, 400: {}, 401: {}, 429: {}, 503: {} },
  });
});
