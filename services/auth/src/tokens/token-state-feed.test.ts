import { FixedClock } from "@countersign/core/testing";
import { TokenStateEntries, type WatchResponse } from "@countersign/proto/auth/v1/token_state.ts";
import { createLogger } from "@countersign/runtime";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { listEntries } from "../testing/list-entries.ts";
import { createTokenStateFeed } from "./token-state-feed.ts";

const clock = new FixedClock("2026-11-22T10:00:00Z");
/** Entries of the first bucket. */
let written: { position: bigint; sessionId: string }[];
/** The next entry's position. */
let next: bigint;
let reads: string[];
let failing: boolean;
/** Whether only the first page of several can be read. */
let losesPages: boolean;
/** Milliseconds of reading a page. */
let pageMs: number;
/** The token keys. */
let kids: string[];
let stop: AbortController;
let feed: ReturnType<typeof createTokenStateFeed>;
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** A session's name is in the bytes of its id. */
const idOf = (name: string) => Buffer.from(name.padEnd(16));
const nameOf = (sessionId = "") => Buffer.from(sessionId.replaceAll("-", ""), "hex").toString().trimEnd();

const write = (sessionId: string) => {
  written.push({ position: next, sessionId });
  next += 1n;
};

const positions = () => [next - 1n, ...Array(255).fill(0n)].join();

beforeEach(() => {
  vi.useFakeTimers();
  [written, next, reads, failing, losesPages, stop] = [[], 100n, [], false, false, new AbortController()];
  [pageMs, kids] = [0, ["k1"]];
  feed = createTokenStateFeed({
    store: {
      async readPositions() {
        reads.push("positions");
        if (failing) throw new Error("no database");
        return positions();
      },
      async readPage(since, after) {
        reads.push(since === undefined ? "whole" : "changes");
        if (losesPages && after) throw new Error("no database");
        if (pageMs > 0) await new Promise((read) => setTimeout(read, pageMs));
        const known = BigInt(after?.position ?? (since ?? "0").split(",")[0]!);
        const [first, second] = written.filter(({ position }) => position > known);
        if (!first) return { entries: Buffer.alloc(0) };
        const until = Buffer.alloc(8);
        until.writeDoubleBE(Number.POSITIVE_INFINITY);
        const packed = [first, ...(second ? [second] : [])].flatMap(({ sessionId }) => [idOf(sessionId), until]);
        const endedSessions = { packed: Buffer.concat(packed) };
        const entries = Buffer.from(TokenStateEntries.encode(TokenStateEntries.create({ endedSessions })).finish());
        return second
          ? { entries, end: { bucket: 0, position: Number(second.position), kind: "session", subject: "" } }
          : { entries };
      },
    },
    keys: { published: async () => kids.map((kid) => ({ kid })) },
    clock,
    logger: createLogger({ name: "test", level: "silent" }),
  });
  void feed.run(stop.signal);
});
afterEach(() => {
  stop.abort();
  vi.useRealTimers();
});

const sessionsOf = ({ entries }: WatchResponse) =>
  listEntries(entries).map(({ endedSessionId }) => nameOf(endedSessionId));

/** A watcher with what it has received. */
function watcher(cursor = "") {
  const received: WatchResponse[] = [];
  const end = new AbortController();
  const done = (async () => {
    const signal = AbortSignal.any([end.signal, stop.signal]);
    for await (const message of feed.watch({ cursor }, signal)) received.push(message);
  })();
  return {
    received,
    end,
    done,
    sessions: () => received.flatMap(sessionsOf),
    heartbeats: () => received.filter(({ complete }) => complete).length,
  };
}

it("reads for a thousand watchers as often as for one", { timeout: 30_000 }, async () => {
  write("before");
  const all = Array.from({ length: 1000 }, () => watcher());
  await pass(100);
  expect(reads.filter((read) => read === "whole")).toHaveLength(1);
  reads = [];
  await pass(3_000);
  for (const each of all) expect(each.heartbeats()).toBeGreaterThanOrEqual(3);
  // Four polls a second, each with two statements.
  expect(reads.length).toBeLessThanOrEqual(26);
  write("during");
  await pass(300);
  for (const each of all) expect(each.sessions()).toEqual(["before", "during"]);
  expect(reads).not.toContain("whole");
});

it("sends the whole state first, with the token keys, and marks its end", async () => {
  write("one");
  const { received } = watcher();
  await pass(50);
  expect(received).toEqual([
    expect.objectContaining({ reset: true, complete: false }),
    expect.objectContaining({ reset: false, complete: true, tokenKeys: [{ kid: "k1", jwkJson: expect.any(String) }] }),
  ]);
  await pass(1_100);
  expect(received.at(-1)).toMatchObject({ reset: false, complete: true, tokenKeys: [], entries: Buffer.alloc(0) });
});

it("sends the token keys again where there is another one", async () => {
  const { received } = watcher();
  await pass(50);
  kids = ["k1", "k2"];
  received.length = 0;
  await pass(2_100);
  expect(received.map(({ tokenKeys }) => tokenKeys.map(({ kid }) => kid))).toEqual([["k1", "k2"], []]);
});

it("reads the whole state once for watchers that come within a minute, and sends later ones what changed since", async () => {
  write("one");
  const first = watcher();
  await pass(30_000);
  write("two");
  await pass(29_000);
  const second = watcher();
  await pass(50);
  expect(second.received[0]).toMatchObject({ reset: true, complete: false });
  expect(second.received.slice(1).map(({ reset }) => reset)).toEqual([false, false]);
  for (const each of [first, second]) expect(each.sessions()).toEqual(["one", "two"]);
  expect(reads.filter((read) => read === "whole")).toHaveLength(1);
  await pass(3_000);
  const third = watcher();
  await pass(50);
  expect(third.sessions()).toEqual(["one", "two"]);
  // Now in two pages.
  expect(reads.filter((read) => read === "whole")).toHaveLength(3);
});

it("has what was committed before a watcher came in its first complete message", async () => {
  await pass(500);
  write("just now");
  const { sessions } = watcher();
  await pass(50);
  expect(sessions()).toEqual(["just now"]);
});

it("resumes at a cursor of another replica, and begins again where the cursor is old or unknown", async () => {
  write("known");
  const cursor = `${positions()}.${clock.now().getTime()}`;
  write("missed");
  const resumed = watcher(cursor);
  const old = watcher(`${positions()}.${clock.now().getTime() - 31 * 60_000}`);
  const unknown = watcher("nonsense");
  await pass(50);
  expect(resumed.sessions()).toEqual(["missed"]);
  expect(resumed.received[0]!.reset).toBe(false);
  for (const each of [old, unknown]) {
    expect(each.sessions()).toEqual(["known", "missed"]);
    expect(each.received[0]!.reset).toBe(true);
  }
});

it("gives all watchers the whole state again where the database has lost commits that they have", async () => {
  const entries = (...ids: string[]) => watchers.map(() => ids);
  write("kept");
  write("lost");
  const ahead = `${positions()}.${clock.now().getTime()}`;
  const watchers = [watcher(), watcher()];
  await pass(50);
  expect(watchers.map(({ sessions }) => sessions())).toEqual(entries("kept", "lost"));
  // A failover to a replica that had not received the last commit.
  written.pop();
  next -= 1n;
  for (const { received } of watchers) received.length = 0;
  await pass(300);
  // One from another replica, and one that the pages of the old whole state would still be recent enough for.
  watchers.push(watcher(ahead), watcher());
  await pass(1_100);
  expect(watchers.map(({ sessions }) => sessions())).toEqual(entries("kept"));
  for (const { received } of watchers) expect(received[0]).toMatchObject({ reset: true, complete: false });
  for (const { received } of watchers) expect(received.filter(({ reset }) => reset)).toHaveLength(1);
  // A reset forgets them.
  for (const { received } of watchers) expect(received.find(({ complete }) => complete)?.tokenKeys).toHaveLength(1);
  write("later");
  await pass(300);
  expect(watchers.map(({ sessions }) => sessions())).toEqual(entries("kept", "later"));
});

it("completes no part of a whole state with changes, where commits were lost and pages cannot be read", async () => {
  for (const sessionId of ["one", "two", "lost"]) write(sessionId);
  const { received, sessions } = watcher();
  await pass(50);
  written.pop();
  next -= 1n;
  losesPages = true;
  received.length = 0;
  await pass(300);
  expect(received).toMatchObject([{ reset: true, complete: false }]);
  // Beyond the positions that the watcher has, before any read succeeds.
  for (const sessionId of ["three", "four"]) write(sessionId);
  losesPages = false;
  received.length = 0;
  await pass(1_100);
  expect(received[0]).toMatchObject({ reset: true, complete: false });
  expect(sessions()).toEqual(["one", "two", "three", "four"]);
});

it("says of an empty state that it is the whole one, also where it took longer to read than a heartbeat", async () => {
  pageMs = 1_500;
  const { received } = watcher(`${positions()}.0`);
  await pass(3_000);
  expect(received[0]).toMatchObject({ reset: true, complete: true, tokenKeys: [{ kid: "k1" }] });
  expect(received.slice(1).map(({ reset }) => reset)).not.toContain(true);
});

it("gives a watcher that is slower than the reader all that it lacks", async () => {
  const slow = feed.watch({ cursor: "" }, stop.signal);
  const first = slow.next();
  await pass(50);
  expect((await first).value).toMatchObject({ complete: true });
  for (const sessionId of ["a", "b", "c"]) {
    write(sessionId);
    await pass(300);
  }
  const lacked: (string | undefined)[] = [];
  for (let complete = false; !complete; ) {
    const next = slow.next();
    await pass(50);
    const message = (await next).value as WatchResponse;
    lacked.push(...sessionsOf(message));
    complete = message.complete;
  }
  expect(lacked).toEqual(["a", "b", "c"]);
});

it("gives no old state for a recent one: a watcher that took long gets its heartbeat with the next read", async () => {
  write("one");
  const slow = feed.watch({ cursor: "" }, stop.signal);
  const next = async () => {
    const message = slow.next();
    await pass(50);
    return (await message).value as WatchResponse;
  };
  expect(await next()).toMatchObject({ reset: true, complete: false });
  failing = true;
  await pass(5_000);
  const held = slow.next();
  await pass(3_000);
  write("two");
  failing = false;
  await pass(1_100);
  const late = (await held).value as WatchResponse;
  expect([late.complete, sessionsOf(late)]).toEqual([false, ["two"]]);
  expect(await next()).toMatchObject({ reset: false, complete: true });
});

it("sends no heartbeat while the database does not answer", async () => {
  const { heartbeats } = watcher();
  await pass(50);
  failing = true;
  await pass(1_000);
  const before = heartbeats();
  await pass(5_000);
  expect(heartbeats()).toBe(before);
  failing = false;
  await pass(1_100);
  expect(heartbeats()).toBeGreaterThan(before);
});

it("ends a watch with its signal", async () => {
  const { end, done } = watcher();
  await pass(50);
  end.abort();
  await pass(0);
  await done;
});
