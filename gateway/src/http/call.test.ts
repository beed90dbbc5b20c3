import { EventEmitter } from "node:events";
import type { Request, Response } from "express";
import { describe, expect, it } from "vitest";
import { createCall, identifyRequest } from "./call.ts";

const trace = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", flags: "01" };

/** A call, and its client going away before or after the answer. */
function begin(stopping?: AbortSignal) {
  const response = Object.assign(new EventEmitter(), {
    locals: { requestId: "0197-request", trace },
    closed: false,
    writableFinished: false,
  });
  const parts = { rawToken: undefined, idempotencyKey: "", lastEventId: "", stopping };
  const call = createCall({} as Request, response as unknown as Response, parts);
  const close = (answered: boolean) => {
    Object.assign(response, { closed: true, writableFinished: answered });
    response.emit("close");
  };
  return { call, close };
}

describe("the signal of a call", () => {
  it("aborts when the client goes away without its answer", () => {
    const { call, close } = begin();
    const { signal } = call;
    expect(signal.aborted).toBe(false);
    close(false);
    expect(signal.aborted).toBe(true);
  });

  it("has aborted where the client was gone before it was read", () => {
    const { call, close } = begin();
    close(false);
    expect(call.signal.aborted).toBe(true);
  });

  it("is the same on every read, and does not abort after the answer", () => {
    const { call, close } = begin();
    const { signal } = call;
    close(true);
    expect(signal.aborted).toBe(false);
    expect(call.signal).toBe(signal);
  });

  it("aborts when the server stops, for a call without an end", () => {
    const stopping = new AbortController();
    const { call } = begin(stopping.signal);
    const { signal } = call;
    stopping.abort();
    expect(signal.aborted).toBe(true);
  });
});

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";

describe("identifyRequest", () => {
  it("takes a valid request id", () => {
    expect(identifyRequest({ "x-request-id": "phone-1.2_3" }).requestId).toBe("phone-1.2_3");
  });

  it.each(["", "short", "a b c d e f", "x\u0000xxxxxxxx", "éééééééé", "x".repeat(65), "<script>xx"])(
    "makes its own instead of %j",
    (given) => {
      expect(identifyRequest({ "x-request-id": given }).requestId).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  it("continues the caller's trace with a span of its own", () => {
    const { trace } = identifyRequest({ traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-00` });
    expect(trace).toMatchObject({ traceId: TRACE_ID, flags: "00" });
    expect(trace.spanId).not.toBe("00f067aa0ba902b7");
  });

  it.each(["", `00-${"0".repeat(32)}-00f067aa0ba902b7-01`, "junk"])("starts a trace where %j came", (traceparent) => {
    expect(identifyRequest({ traceparent }).trace.traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
  });
});
