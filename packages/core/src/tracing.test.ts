import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, describe, expect, it } from "vitest";
import { AppError } from "./app-error.ts";
import { createBatcher } from "./batcher.ts";
import { asPort } from "./port.ts";
import type { TraceParent } from "./trace-parent.ts";
import { activeTrace, detached, inSpan, newTrace, recordSpans, type SpanOptions, startSpan } from "./tracing.ts";

interface Recorded extends SpanOptions {
  name: string;
  error?: string | undefined;
}

/** Records spans in the order of their ends. */
function record(): Recorded[] {
  const ended: Recorded[] = [];
  const active = new AsyncLocalStorage<TraceParent | undefined>();
  recordSpans({
    start(name, options) {
      const { parent = active.getStore() } = options;
      const trace = newTrace(parent);
      return {
        trace,
        run: (work) => active.run(trace, work),
        end: ({ error } = {}) => void ended.push({ ...options, name, parent, error }),
      };
    },
    active: () => active.getStore(),
    detached: (work) => active.run(undefined, work),
  });
  return ended;
}
afterEach(() => recordSpans(undefined));

const store = { find: async (id: string) => `found ${id}`, fail: () => Promise.reject(new AppError("KeyNotFound")) };

describe("a process that exports no spans", () => {
  it("has positions for logs and callees all the same", async () => {
    const parent = newTrace();
    expect(startSpan("work").trace.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(startSpan("work", { parent }).trace).toMatchObject({ traceId: parent.traceId, flags: "01" });
    expect(await inSpan("work", { parent }, async (trace) => trace)).toEqual(parent);
    expect(activeTrace()).toBeUndefined();
  });

  it("calls ports as they are", () => {
    expect(asPort("store", store)).toBe(store);
  });
});

describe("a process that exports spans", () => {
  it("has one for each call of a port within a request, which fails with the call's reason", async () => {
    const ended = record();
    const port = asPort("store", store);
    const request = startSpan("request");
    await request.run(async () => {
      expect(await port.find("a")).toBe("found a");
      await expect(port.fail()).rejects.toThrow("KeyNotFound");
    });
    const parent = request.trace;
    expect(ended).toEqual([
      { name: "store.find", parent, error: undefined },
      { name: "store.fail", parent, error: "KeyNotFound" },
    ]);
  });

  it("never exports the message of an error, which may hold data", async () => {
    const ended = record();
    await inSpan("work", {}, () => Promise.reject(new TypeError("ada@example.com"))).catch(() => undefined);
    expect(ended).toMatchObject([{ error: "TypeError" }]);
  });

  it("has none for the calls of jobs, nor for work that goes on for others", async () => {
    const ended = record();
    const port = asPort("store", store);
    await port.find("a");
    await startSpan("request").run(() => detached(() => port.find("b")));
    expect(ended).toEqual([]);
  });

  it("has one for a batch, in the trace of its first item and with links to those of the others", async () => {
    const ended = record();
    const add = createBatcher(async (numbers: readonly number[]) => numbers.map((each) => each + 1));
    const [first, second] = [startSpan("first"), startSpan("second")];
    expect(await Promise.all([first.run(() => add(1)), second.run(() => add(2)), add(3)])).toEqual([2, 3, 4]);
    const attributes = { "batch.size": 3 };
    expect(ended).toEqual([
      { name: "batch", parent: first.trace, links: [second.trace], attributes, error: undefined },
    ]);
  });
});
