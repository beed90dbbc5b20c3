import { generateKeyPairSync } from "node:crypto";
import type { Logger } from "@countersign/core";
import { MAX_STATE_AGE_MS, systemClock, uuidv4 } from "@countersign/core";
import type { TokenStateService } from "@countersign/proto/auth/v1/token_state.ts";
import { WatchResponse } from "@countersign/proto/auth/v1/token_state.ts";
import type { RpcClient } from "@countersign/rpc";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { entry, watchMessage } from "./testing/samples.ts";
import { untilCurrent, type WatchedTokenState, watchTokenState } from "./watch.ts";

const SESSION = "019a0000-0000-7000-8000-000000000002";
const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey;
const ended = (endedSessionId: string) => watchMessage({ entries: [entry({ endedSessionId })] }).entries;
const tokenKeys = [{ kid: "k1", jwkJson: JSON.stringify(key.export({ format: "jwk" })) }];

/** One call of Watch: what it was asked, and how a test answers it. */
class Call {
  readonly cursor: string;
  readonly signal: AbortSignal;
  readonly #messages: WatchResponse[] = [];
  #ended = false;
  #wake = Promise.withResolvers<void>();

  constructor(cursor: string, signal: AbortSignal) {
    this.cursor = cursor;
    this.signal = signal;
    signal.addEventListener("abort", () => this.#wake.resolve());
  }
  send(message: Partial<WatchResponse>): void {
    this.#messages.push({ ...WatchResponse.create(), ...message });
    this.#wake.resolve();
  }
  end(): void {
    this.#ended = true;
    this.#wake.resolve();
  }
  async *[Symbol.asyncIterator]() {
    while (!this.#ended) {
      for (let next = this.#messages.shift(); next; next = this.#messages.shift()) yield next;
      if (this.signal.aborted) throw new Error("cancelled");
      if (!this.#ended) await this.#wake.promise;
      this.#wake = Promise.withResolvers<void>();
    }
  }
}

let calls: Call[];
let logged: unknown[];
let state: WatchedTokenState;
const last = () => calls.at(-1)!;
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const complete = (change: Partial<WatchResponse> = {}) => last().send({ complete: true, cursor: "c1", ...change });
const snapshot = () => complete({ reset: true, tokenKeys });

beforeEach(async () => {
  vi.useFakeTimers();
  [calls, logged] = [[], []];
  const log = (entry: unknown) => void logged.push(entry);
  const logger = { child: () => ({ warn: log, error: log }) } as unknown as Logger;
  const client: Pick<RpcClient<TokenStateService>, "watch"> = {
    watch({ cursor = "", packed }, { signal } = {}) {
      expect(packed).toBe(true);
      const call = new Call(cursor, signal!);
      calls.push(call);
      return call;
    },
  };
  state = watchTokenState(client, { logger, clock: systemClock });
  await pass(0);
});
afterEach(() => {
  state.close();
  vi.useRealTimers();
});

describe("the watched token state", () => {
  it("is current with the first complete message, and grants nothing before", async () => {
    last().send({ reset: true, tokenKeys });
    await pass(1);
    expect([state.current(), state.tokenKey("k1")]).toEqual([false, undefined]);
    complete();
    await pass(1);
    expect([state.current(), state.tokenKey("k1") !== undefined]).toEqual([true, true]);
    expect(calls.map(({ cursor }) => cursor)).toEqual([""]);
  });

  it("resumes after a lost connection where it was, and goes on judging meanwhile", async () => {
    snapshot();
    await pass(1);
    last().end();
    await pass(2000);
    expect(calls.map(({ cursor }) => cursor)).toEqual(["", "c1"]);
    expect([state.current(), state.isSessionEnded(SESSION)]).toEqual([true, false]);
    complete({ entries: ended(SESSION) });
    await pass(1);
    expect(state.isSessionEnded(SESSION)).toBe(true);
  });

  it("gives up a connection that is silent for four seconds; only complete messages count", async () => {
    snapshot();
    await pass(3000);
    complete();
    await pass(3999);
    last().send({ complete: false });
    expect([calls.length, last().signal.aborted]).toEqual([1, false]);
    await pass(1);
    expect(calls[0]!.signal.aborted).toBe(true);
    await pass(2000);
    expect(calls).toHaveLength(2);
    expect(logged).toHaveLength(1);
  });

  it("waits for a state that arrives in many messages, and is not current before the last", async () => {
    last().send({ reset: true, tokenKeys });
    for (const sessionId of [uuidv4(), uuidv4(), SESSION]) {
      await pass(3000);
      last().send({ entries: ended(sessionId) });
    }
    await pass(3000);
    expect([calls.length, last().signal.aborted, state.current()]).toEqual([1, false, false]);
    complete();
    await pass(1);
    expect([state.current(), state.isSessionEnded(SESSION)]).toEqual([true, true]);
    await pass(4000);
    expect(calls[0]!.signal.aborted).toBe(true);
  });

  it("asks for the whole state again where a connection is lost in the middle of it", async () => {
    snapshot();
    await pass(1);
    last().send({ reset: true, entries: ended("a") });
    await pass(1);
    last().end();
    await pass(2000);
    expect(calls.map(({ cursor }) => cursor)).toEqual(["", ""]);
  });

  it("gives up a connection that never brings anything", async () => {
    await pass(3999);
    expect(last().signal.aborted).toBe(false);
    await pass(1);
    expect(last().signal.aborted).toBe(true);
    expect(logged).toEqual([{ err: expect.objectContaining({ message: expect.stringContaining("CS_AUTH_ADDRESS") }) }]);
  });

  it("is not current once nothing has arrived for ten seconds, however often it connects", async () => {
    snapshot();
    await pass(1);
    await pass(MAX_STATE_AGE_MS - 1);
    expect(state.current()).toBe(true);
    await pass(2);
    expect(state.current()).toBe(false);
    expect(calls.length).toBeGreaterThan(1);
    complete();
    await pass(1);
    expect(state.current()).toBe(true);
  });

  it("waits longer after each failed connection, and briefly again after one that brought something", async () => {
    const random = vi.spyOn(Math, "random").mockReturnValue(1);
    /** Returns how long the next call takes after this one has ended, to 50 ms. */
    const wait = async () => {
      const [before, from] = [calls.length, performance.now()];
      last().end();
      while (calls.length === before) await pass(50);
      return performance.now() - from;
    };
    const waits = [await wait(), await wait(), await wait(), await wait(), await wait(), await wait()];
    for (const [i, each] of waits.slice(1, 4).entries()) expect(each).toBeGreaterThan(waits[i]!);
    expect(waits.at(-1)).toBeLessThanOrEqual(1050);
    snapshot();
    await pass(1);
    expect(await wait()).toBeLessThanOrEqual(waits[1]!);
    random.mockRestore();
  });

  it("logs a token key that cannot be used, and takes the others", async () => {
    complete({ reset: true, tokenKeys: [{ kid: "bad", jwkJson: "{" }, ...tokenKeys] });
    await pass(1);
    expect(logged).toHaveLength(1);
    expect(state.tokenKey("k1")).toBeDefined();
  });

  it("ends its connection when it is closed, and dials no more", async () => {
    state.close();
    expect(last().signal.aborted).toBe(true);
    await pass(0);
    expect(vi.getTimerCount()).toBe(0);
    await pass(10_000);
    expect(calls).toHaveLength(1);
    expect(logged).toEqual([]);
  });
});

describe("waiting for a current state", () => {
  /** Returns whether the wait is over after so many milliseconds. */
  const isOver = async (waiting: Promise<void>, ms: number) => {
    let over = false;
    void waiting.then(() => {
      over = true;
    });
    await pass(ms);
    return over;
  };

  it("ends when the state is current", async () => {
    const waiting = untilCurrent(state);
    expect(await isOver(waiting, 1000)).toBe(false);
    snapshot();
    expect(await isOver(waiting, 20)).toBe(true);
    expect(await isOver(untilCurrent(state), 0)).toBe(true);
  });

  it("ends after five seconds without", async () => {
    const waiting = untilCurrent(state);
    expect(await isOver(waiting, 4_980)).toBe(false);
    expect(await isOver(waiting, 40)).toBe(true);
  });
});
