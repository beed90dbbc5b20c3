import { AppError } from "@countersign/core";
import { describe, expect, test, vi } from "vitest";
import type { CallContext } from "./context.ts";
import { request, world } from "./testing/call-world.ts";

/** Calls of which each does `begin` and then runs until `end`. `started` resolves with the first one. */
function runningCalls(begin: (call: CallContext) => void = () => undefined) {
  const [started, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  world.work = (call) => {
    begin(call);
    started.resolve();
    return ended.promise;
  };
  return { started: started.promise, end: ended.resolve };
}

describe("errors", () => {
  test("an AppError arrives whole", async () => {
    world.work = async () => {
      throw new AppError("RateLimited", {
        detail: "später wieder",
        fields: [{ pointer: "/name", detail: "too long" }],
        retryAfterSeconds: 1.5,
        metadata: { limit: "120" },
      });
    };
    await expect(world.accounts.getAccount(request)).rejects.toMatchObject({
      reason: "RateLimited",
      detail: "später wieder",
      fields: [{ pointer: "/name", detail: "too long" }],
      retryAfterSeconds: 1.5,
      metadata: { limit: "120" },
    });
  });

  test("an unknown error becomes Internal: its cause is logged, never sent, and the process continues", async () => {
    world.work = async () => {
      throw new Error("password of db.example is hunter2");
    };
    const error = await world.accounts.getAccount(request).catch((thrown: AppError) => thrown);
    expect(error).toMatchObject({ reason: "Internal", detail: "Something went wrong here" });
    expect(JSON.stringify([error, String((error as AppError).cause)])).not.toContain("hunter2");
    expect(world.running.log.text()).toContain("hunter2");
    world.work = async () => undefined;
    await world.accounts.getAccount(request);
  });

  // A statement that several requests share would fail for all of them.
  test("texts with NUL and times that are none, which Postgres does not store, reach no handler", async () => {
    const worked = vi.fn(async () => undefined);
    world.work = worked;
    await expect(world.accounts.getAccount({ ...request, chainName: "a\0b" })).rejects.toMatchObject({
      reason: "InvalidRequest",
      fields: [{ pointer: "/chainName" }],
    });
    expect(worked).not.toHaveBeenCalled();
  });

  test("messages beyond the limit are refused", async () => {
    await expect(world.accounts.getAccount({ ...request, chainName: "x".repeat(20_000) })).rejects.toBeInstanceOf(
      AppError,
    );
  });
});

describe("time", () => {
  test("the server's deadline answers although the handler hangs, and aborts its signal", async () => {
    const aborted = vi.fn();
    world.work = (call) => {
      call.signal.addEventListener("abort", aborted);
      return new Promise(() => undefined);
    };
    await expect(world.accounts.getAccount(request)).rejects.toMatchObject({ reason: "DeadlineExceeded" });
    expect(aborted).toHaveBeenCalled();
  });

  test("a caller's shorter deadline wins, and passes on from call to call", async () => {
    let leftMs = 0;
    const calls = runningCalls((call) => {
      leftMs = call.deadline!.getTime() - Date.now();
    });
    const parent = {
      requestId: "request-1",
      signal: new AbortController().signal,
      deadline: new Date(Date.now() + 900),
    };
    const answer = world.accounts.getAccount(request, { onBehalfOf: parent }).catch((error: AppError) => error);
    await calls.started;
    expect(leftMs).toBeLessThan(950);
    expect(await answer).toMatchObject({ reason: "DeadlineExceeded" });
  });

  test("a caller that goes away aborts the handler", async () => {
    const aborted = vi.fn();
    const calls = runningCalls((call) => call.signal.addEventListener("abort", aborted));
    const leaving = new AbortController();
    const answer = world.accounts.getAccount(request, { signal: leaving.signal }).catch((error: AppError) => error);
    await calls.started;
    leaving.abort();
    expect(await answer).toMatchObject({ reason: "Unavailable" });
    await expect.poll(() => aborted).toHaveBeenCalled();
  });

  test("stopping waits for running calls, then ends them", async () => {
    const calls = runningCalls();
    const answered = world.accounts.getAccount(request);
    await calls.started;
    const stopped = world.running.server.stop(10_000);
    calls.end();
    await answered;
    await stopped;
    await expect(world.accounts.getAccount(request)).rejects.toMatchObject({ reason: "Unavailable" });
  });

  test("a call that hangs does not keep the server from stopping", async () => {
    const calls = runningCalls();
    const answer = world.accounts.getAccount(request).catch((error: AppError) => error.reason);
    await calls.started;
    await world.running.server.stop(100);
    // Its deadline had not ended it yet.
    expect(await answer).toBe("Unavailable");
  });
});

describe("retries", () => {
  const failTwice = () => {
    let count = 0;
    world.work = async () => {
      count += 1;
      if (count < 3) throw new AppError("Unavailable");
    };
    return () => count;
  };

  test("only calls marked idempotent are tried again", async () => {
    const count = failTwice();
    await expect(world.accounts.getAccount(request)).rejects.toMatchObject({ reason: "Unavailable" });
    expect(count()).toBe(1);
  });

  test("an idempotent call is tried three times", async () => {
    const count = failTwice();
    await world.accounts.getAccount(request, { idempotent: true });
    expect(count()).toBe(3);
  });

  test("codes that are not listed end the call", async () => {
    let count = 0;
    world.work = async () => {
      count += 1;
      throw new AppError("Internal");
    };
    await expect(world.accounts.getAccount(request, { idempotent: true })).rejects.toMatchObject({
      reason: "Internal",
    });
    expect(count).toBe(1);
  });
});

describe("request ids and traces", () => {
  test("pass on unchanged, and are replaced when they are malformed", async () => {
    const seen: string[] = [];
    world.work = async (call) => void seen.push(call.requestId, call.trace.traceId);
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    await world.accounts.getAccount(request, {
      requestId: "request-77",
      traceparent: `00-${traceId}-b7ad6b7169203331-01`,
    });
    await world.accounts.getAccount(request, { requestId: "bad id", traceparent: "nonsense" });
    expect(seen.slice(0, 2)).toEqual(["request-77", traceId]);
    expect(seen[2]).toMatch(/^[0-9a-f-]{36}$/);
    expect(seen[3]).toMatch(/^[0-9a-f]{32}$/);
  });
});
