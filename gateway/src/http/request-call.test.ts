import { EventEmitter } from "node:events";
import { createLogger } from "@countersign/runtime";
import type { Request, Response } from "express";
import { describe, expect, it } from "vitest";
import { RequestCall } from "./request-call.ts";

const logger = createLogger({ name: "gateway", level: "silent" });
const trace = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", flags: "01" };

/** A call, and its client going away before or after the answer. */
function begin(stopping?: AbortSignal) {
  const response = Object.assign(new EventEmitter(), {
    locals: { requestId: "0197-request", trace },
    closed: false,
    writableFinished: false,
  });
  const parts = { session: undefined, idempotencyKey: "", lastEventId: "", logger, stopping };
  const call = new RequestCall({} as Request, response as unknown as Response, parts);
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

  it("has aborted where the client was away before anybody asked", () => {
    const { call, close } = begin();
    close(false);
    expect(call.signal.aborted).toBe(true);
  });

  it("is the same for everybody, and stays where the client took its answer", () => {
    const { call, close } = begin();
    const { signal } = call;
    close(true);
    expect(signal.aborted).toBe(false);
    expect(call.signal).toBe(signal);
  });

  it("aborts when the server stops, where the call goes on for ever", () => {
    const stopping = new AbortController();
    const { call } = begin(stopping.signal);
    const { signal } = call;
    stopping.abort();
    expect(signal.aborted).toBe(true);
  });
});
