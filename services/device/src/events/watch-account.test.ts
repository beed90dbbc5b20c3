import { FixedClock } from "@countersign/core/testing";
import type { StoredEvent } from "@countersign/events";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { beforeEach, describe, expect, it } from "vitest";
import { watchAccount } from "./watch-account.ts";
import { createWatchers, type Watchers } from "./watchers.ts";

const accountId = "019a0000-0000-7000-8000-000000000001";
const other = "019a0000-0000-7000-8000-000000000002";
const MINUTE_MS = 60_000;

let clock: FixedClock;
let stored: StoredEvent[];
let position: number | undefined;
let watchers: Watchers;
let abort: AbortController;
let watching: ReturnType<typeof watchAccount>;

/** Stores an event, and hands it out unless the feed is behind. */
function happen(options: { account?: string; minutesAgo?: number; payload?: Partial<Event>; behind?: boolean } = {}) {
  const { account = accountId, minutesAgo = 0, payload = { deviceUpdated: { deviceId: "d" } } } = options;
  const storedAt = new Date(clock.now().getTime() - minutesAgo * MINUTE_MS);
  const event = Event.fromPartial({ id: "e", accountId: account, occurredAt: storedAt, ...payload });
  const name = payload.sessionEnded ? "auth" : "device";
  const subject = `cs.v1.${name}.${account}.${payload.sessionEnded ? "session-ended" : "device-updated"}`;
  const sequence = (stored.at(-1)?.sequence ?? 0) + 1;
  stored.push({ sequence, subject, storedAt, event });
  if (!options.behind) hand(sequence);
}

function hand(sequence: number) {
  const { subject, event } = stored.find((each) => each.sequence === sequence)!;
  position = sequence;
  watchers.publish({ sequence, subject, decode: () => event });
}

const feed = {
  position: () => position,
  bounds: async () => ({ first: stored[0]?.sequence ?? 1, last: stored.at(-1)?.sequence ?? 0 }),
  next: async (subject: string, from: number | Date) => {
    const account = subject.split(".")[3]!;
    return stored.find(
      (each) =>
        each.subject.includes(account) && (typeof from === "number" ? each.sequence >= from : each.storedAt >= from),
    );
  },
};

const watch = (lastEventId = "", sessionId = "mine") =>
  watching({ accountId, sessionId, lastEventId, signal: abort.signal });

async function take(stream: ReturnType<typeof watch>, count: number) {
  const seen: string[] = [];
  while (seen.length < count) {
    const { value, done } = await stream.next();
    if (done) return [...seen, "end"];
    seen.push(`${value.id} ${value.type}`.trim());
  }
  return seen;
}

beforeEach(() => {
  clock = new FixedClock();
  stored = [];
  position = 0;
  abort = new AbortController();
  watchers = createWatchers({ maxPerSession: 3, maxWaiting: 4 });
  watching = watchAccount({ feeds: { of: () => feed }, watchers, clock });
});

describe("watching an account", () => {
  it("begins now, with the place to resume from", async () => {
    happen();
    const stream = watch();
    expect(await take(stream, 1)).toEqual(["1"]);
    happen({ account: other });
    happen();
    expect(await take(stream, 1)).toEqual(["3 device.updated"]);
  });

  it("resumes behind the last event, each once, also what happens meanwhile", async () => {
    for (let count = 0; count < 5; count++) happen();
    const stream = watch("2");
    expect(await take(stream, 2)).toEqual(["3 device.updated", "4 device.updated"]);
    happen();
    expect(await take(stream, 3)).toEqual(["5 device.updated", "6 device.updated", "6"]);
    happen();
    expect(await take(stream, 1)).toEqual(["7 device.updated"]);
  });

  it("does not repeat what a replica that was ahead has sent", async () => {
    happen();
    happen({ behind: true });
    const stream = watch("2");
    expect(await take(stream, 1)).toEqual(["2"]);
    hand(2);
    happen();
    expect(await take(stream, 1)).toEqual(["3 device.updated"]);
  });

  it("goes back an hour at most, and says so", async () => {
    happen({ minutesAgo: 200 });
    happen({ minutesAgo: 100 });
    happen({ minutesAgo: 59 });
    expect(await take(watch("1"), 3)).toEqual(["1 stream.reset", "3 device.updated", "3"]);
    expect(await take(watch("2"), 2)).toEqual(["3 device.updated", "3"]);
  });

  it("says that it does not know where the stream lost what was after the id, or never had the id", async () => {
    happen();
    happen();
    happen();
    stored.splice(0, 2);
    expect(await take(watch("1"), 3)).toEqual(["1 stream.reset", "3 device.updated", "3"]);
    expect(await take(watch("99"), 2)).toEqual(["3 stream.reset", "3"]);
  });

  it("is not at an end for an account with too much", async () => {
    for (let count = 0; count < 1_002; count++) happen();
    const seen = await take(watch("0"), 1_002);
    expect(seen.slice(-2)).toEqual(["1000 stream.reset", "1002"]);
  });

  it("ends with its own session, not with another", async () => {
    const stream = watch();
    await take(stream, 1);
    happen({ payload: { sessionEnded: { sessionId: "another", cause: "signed-out" } } });
    happen({ payload: { sessionEnded: { sessionId: "mine", cause: "signed-out" } } });
    expect(await take(stream, 9)).toEqual(["1 session.ended", "2 session.ended", "end"]);
    expect(watchers.count()).toBe(0);
  });

  it("carries the replacement of its own session, and of no other", async () => {
    const replaced = (sessionId: string) => happen({ payload: { sessionEnded: { sessionId, cause: "replaced" } } });
    replaced("another");
    happen();
    const stream = watch("0");
    expect(await take(stream, 2)).toEqual(["2 device.updated", "2"]);
    replaced("another");
    replaced("mine");
    expect(await take(stream, 9)).toEqual(["4 session.ended", "end"]);
  });

  it("ends when its reader goes, while it waits", async () => {
    const stream = watch();
    await take(stream, 1);
    const next = stream.next();
    abort.abort();
    expect((await next).done).toBe(true);
    expect(watchers.count()).toBe(0);
  });

  it("drops a reader that is too slow, and keeps nothing of it", async () => {
    const stream = watch();
    await take(stream, 1);
    for (let count = 0; count < 5; count++) happen();
    expect(watchers.count()).toBe(0);
    await expect(stream.next()).rejects.toMatchObject({ reason: "Unavailable" });
  });

  it("ends when the server stops, and takes none any more", async () => {
    const stream = watch();
    await take(stream, 1);
    watchers.endAll(true);
    await expect(stream.next()).rejects.toMatchObject({ reason: "Unavailable" });
    await expect(watch().next()).rejects.toMatchObject({ reason: "Unavailable" });
  });

  // A stolen recovery key's session, or a stolen phone's, must not keep the others from their events.
  it("bounds the streams of a session, and takes none from the account's other sessions", async () => {
    for (let count = 0; count < 3; count++) await take(watch(), 1);
    await expect(watch().next()).rejects.toMatchObject({ reason: "RateLimited" });
    expect(await take(watch("", "other"), 1)).toEqual(["0"]);
  });

  it("bounds how often a session resumes in a minute, since each reads NATS; a stream from now on reads nothing", async () => {
    const resume = async (sessionId: string) => {
      const stream = watch("0", sessionId);
      await take(stream, 1);
      await stream.return(undefined);
    };
    for (let count = 0; count < 120; count++) await resume("mine");
    await expect(resume("mine")).rejects.toMatchObject({ reason: "RateLimited" });
    expect(await take(watch(), 1)).toEqual(["0"]);
    await resume("other");
    clock.advance(MINUTE_MS);
    await resume("mine");
  });

  it("of accounts in two partitions follows the numbers of each, and resets an id from before the partitions", async () => {
    const first = 1_000_000_001;
    const inPartition = (last: number) => ({
      position: () => last,
      bounds: async () => ({ first, last }),
      next: async () => undefined,
    });
    const feeds = { of: (id: string) => inPartition(id === accountId ? first + 7 : first + 3) };
    const begin = (id: string, lastEventId: string) =>
      watchAccount({ feeds, watchers, clock })({ accountId: id, sessionId: "s", lastEventId, signal: abort.signal });
    const [one, two, early] = [begin(accountId, ""), begin(other, `${first}`), begin(accountId, "42")];
    expect(await take(one, 1)).toEqual([`${first + 7}`]);
    expect(await take(two, 1)).toEqual([`${first + 3}`]);
    expect(await take(early, 2)).toEqual(["42 stream.reset", `${first + 7}`]);
    const happens = (id: string, sequence: number) => {
      const event = Event.fromPartial({ accountId: id, occurredAt: clock.now(), deviceUpdated: { deviceId: "d" } });
      watchers.publish({ sequence, subject: `cs.v1.device.${id}.device-updated`, decode: () => event });
    };
    happens(accountId, first + 8);
    happens(other, first + 4);
    expect(await take(one, 1)).toEqual([`${first + 8} device.updated`]);
    expect(await take(two, 1)).toEqual([`${first + 4} device.updated`]);
  });

  it("needs the feed, and a sane id", async () => {
    for (const id of ["x", "-1", "01", "1.5", "9".repeat(17)]) {
      await expect(watch(id).next()).rejects.toMatchObject({ reason: "InvalidRequest" });
    }
    position = undefined;
    await expect(watch().next()).rejects.toMatchObject({ reason: "Unavailable" });
    expect(watchers.count()).toBe(0);
  });
});
