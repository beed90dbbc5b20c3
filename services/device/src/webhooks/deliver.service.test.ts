import { FixedClock, type Logger, uuidv7 } from "@countersign/core";
import { eventRow } from "@countersign/events";
import { sql } from "@countersign/postgres";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { erasePerson } from "../store/account-readings.ts";
import { postgresWebhookStore } from "../store/postgres-webhook-store.ts";
import { silentLogger } from "../testing/silent-logger.ts";
import { postgres } from "../testing/store-fixture.ts";
import type { WebhookEndpoint } from "./config.ts";
import { deliverDue, LEASE_MS, pauseMs } from "./deliver.ts";
import type { WebhookStore } from "./ports.ts";
import type { Attempt, Sent } from "./send.ts";

const HOUR_MS = 3_600_000;
const endpoint: WebhookEndpoint = { id: "wallet", appId: "wallet", url: "https://h.example", secrets: [], types: [] };
const ok: Attempt = { delivered: true, text: "status 200" };
const no: Attempt = { delivered: false, text: "status 500" };

let clock: FixedClock;
let store: WebhookStore;
let seen: string[];
/** How the receiver answers a message. */
let answer: (sent: Sent) => Attempt | Promise<Attempt>;
let outcomes: string[];
beforeEach(() => {
  clock = new FixedClock("2026-11-23T10:00:00Z");
  store = postgresWebhookStore(postgres);
  seen = [];
  outcomes = [];
  answer = () => ok;
});
afterEach(async () => {
  await postgres.execute(sql`DELETE FROM webhook_delivery`);
  await postgres.execute(sql`DELETE FROM webhook_queue`);
});

const newAccount = () => uuidv7(clock);
/** Queues an event; returns its id. */
async function add(accountId: string, endpoints = ["wallet"], type = "key.added"): Promise<string> {
  clock.advance(1);
  const eventId = uuidv7(clock);
  await store.add({ eventId, accountId, endpoints, type, body: `{"id":"${eventId}"}`, now: clock.now() });
  return eventId;
}

/** A process: it delivers what is due, with the test's store or one that kills it. */
const process = (on: WebhookStore = store) =>
  deliverDue({
    store: on,
    send: async (_, sent) => {
      seen.push(sent.id);
      return answer(sent);
    },
    clock,
    logger: silentLogger as Logger,
    observe: (_, outcome) => void outcomes.push(outcome),
  });
const work = async (): Promise<void> => {
  while (await process()(endpoint));
};
const rows = () =>
  postgres.query<{ eventId: string; state: string; attempts: number; result: string }>(sql`
    SELECT event_id AS "eventId", state, attempts, last_result AS result FROM webhook_delivery ORDER BY event_id`);
const stateOf = async (id: string) => (await rows()).find(({ eventId }) => eventId === id)?.state;
const queues = async () => (await postgres.query(sql`SELECT 1 FROM webhook_queue`)).length;

describe("delivery", () => {
  it("sends an account's events in their order, each once, and leaves no queue behind", async () => {
    const account = newAccount();
    const ids = [await add(account), await add(account), await add(account)];
    await work();
    expect(seen).toEqual(ids);
    expect((await rows()).map(({ state }) => state)).toEqual(["delivered", "delivered", "delivered"]);
    expect(await queues()).toBe(0);
    await work();
    expect(seen).toHaveLength(3);
  });

  it("of events that were made in one millisecond keeps their order, also if they reach the queue in another", async () => {
    const account = newAccount();
    const context = { accountId: account, occurredAt: clock.now() };
    vi.useFakeTimers({ now: clock.now(), toFake: ["Date"] });
    const ids = Array.from({ length: 20 }, () => eventRow("device", "device-updated", context, {}).id);
    vi.useRealTimers();
    expect(new Set(ids.map((id) => id.slice(0, 13))).size).toBe(1);
    for (const eventId of ids.toReversed())
      await store.add({ eventId, accountId: account, endpoints: ["wallet"], type: "t", body: "{}", now: clock.now() });
    await work();
    expect(seen).toEqual(ids);
  });

  it("of a repeated event is one", async () => {
    const account = newAccount();
    const id = await add(account);
    const again = () =>
      store.add({ eventId: id, accountId: account, endpoints: ["wallet"], type: "t", body: "other", now: clock.now() });
    await again();
    await work();
    await again();
    await work();
    expect(seen).toEqual([id]);
    expect(await queues()).toBe(0);
  });

  it("that fails holds back later events of that account at that endpoint, and no others", async () => {
    const [one, other] = [newAccount(), newAccount()];
    const failing = await add(one, ["wallet", "game"]);
    const later = await add(one);
    const free = await add(other);
    answer = ({ id }) => (id === failing ? no : ok);
    await work();
    expect(seen.toSorted()).toEqual([failing, free].toSorted());
    await process()({ ...endpoint, id: "game" });
    expect(seen.filter((id) => id === failing)).toHaveLength(2);
    clock.advance(4_000);
    await work();
    expect(seen).not.toContain(later);
    answer = () => ok;
    clock.advance(3_000);
    await work();
    expect(seen.slice(-2)).toEqual([failing, later]);
  });

  it("is tried with growing pauses for three days, then is dead, and the next one follows", async () => {
    const account = newAccount();
    const first = await add(account);
    const started = clock.now().getTime();
    answer = ({ id }) => (id === first ? no : ok);
    const second = await add(account);
    const attempts: number[] = [];
    while ((await stateOf(first)) === "waiting") {
      const before = seen.length;
      await work();
      if (seen.length > before) attempts.push(clock.now().getTime() - started);
      clock.advance(60_000);
      if (clock.now().getTime() - started > 100 * HOUR_MS) break;
    }
    const [last = 0] = attempts.slice(-1);
    expect(last).toBeGreaterThanOrEqual(72 * HOUR_MS);
    expect(last).toBeLessThan(80 * HOUR_MS);
    expect(attempts.length).toBeGreaterThan(15);
    expect(attempts.length).toBeLessThan(30);
    expect((await rows()).map(({ state }) => state)).toEqual(["dead", "delivered"]);
    expect(seen.at(-1)).toBe(second);
    expect(outcomes.filter((each) => each === "dead")).toHaveLength(1);
  });

  it("waits as long as the receiver asks, at most an hour", () => {
    expect([pauseMs(1, 0.5), pauseMs(2, 0.5), pauseMs(3, 0.5), pauseMs(20, 0.5)]).toEqual([
      5_000,
      15_000,
      45_000,
      6 * HOUR_MS,
    ]);
    expect([pauseMs(1, 0), pauseMs(1, 1)]).toEqual([4_000, 6_000]);
    expect([pauseMs(1, 0.5, 120), pauseMs(1, 0.5, 999_999)]).toEqual([120_000, HOUR_MS]);
  });

  it("keeps at most 1,000 waiting events of an account at an endpoint; later ones are dead and can be replayed", async () => {
    const account = newAccount();
    await postgres.execute(sql`
      INSERT INTO webhook_delivery SELECT ${account}::uuid, 'wallet', gen_random_uuid(), 't', '{}', 'waiting', 0, '',
        ${clock.now()}, ${clock.now()}, ${clock.now()}, NULL FROM generate_series(1, 1000)`);
    const id = await add(account);
    expect((await rows()).find(({ eventId }) => eventId === id)).toMatchObject({
      state: "dead",
      result: "too many wait",
    });
    expect(
      await store.replay({ endpoint: "wallet", eventId: id, deadOnly: true }, new Date(clock.now().getTime() + 1)),
    ).toBe(1);
    expect(await stateOf(id)).toBe("waiting");
  });
});

describe("several processes", () => {
  it("send each event once, in the order of its account", async () => {
    const accounts = Array.from({ length: 12 }, newAccount);
    const ids = new Map<string, string[]>(accounts.map((each) => [each, []]));
    for (let i = 0; i < 4; i++) for (const account of accounts) ids.get(account)!.push(await add(account));
    answer = async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return ok;
    };
    const drained = async () => {
      for (let i = 0; i < 20; i++) await process()(endpoint);
    };
    await Promise.all([drained(), drained(), drained()]);
    expect(seen).toHaveLength(48);
    for (const own of ids.values()) expect(seen.filter((id) => own.includes(id))).toEqual(own);
    expect(await queues()).toBe(0);
  });

  it("do not send while another one's attempt hangs, and take over after its lease", async () => {
    const account = newAccount();
    const id = await add(account);
    const hung = Promise.withResolvers<Attempt>();
    answer = () => hung.promise;
    const hanging = process()(endpoint);
    await expect.poll(() => seen).toEqual([id]);
    answer = () => ok;
    clock.advance(LEASE_MS - 1);
    await work();
    expect(seen).toEqual([id]);
    clock.advance(1);
    await work();
    expect(seen).toEqual([id, id]);
    const after = await add(account);
    // Late, it changes nothing of what the other one recorded, and gives back no lease that is not its own.
    hung.resolve(no);
    await hanging;
    expect(await stateOf(id)).toBe("delivered");
    await work();
    expect(seen).toEqual([id, id, after]);
    expect(await queues()).toBe(0);
  });
});

describe("a process that is killed", () => {
  const METHODS = ["lease", "first", "send", "end", "retry", "release"] as const;
  const cases = METHODS.flatMap((method) =>
    (["before", "after"] as const).flatMap((when) => [1, 2].map((nth) => [when, method, nth] as const)),
  );
  it.each(cases)("%s %s, the %d. time: everything arrives in order, once or more often", async (when, method, nth) => {
    const account = newAccount();
    const ids = [await add(account), await add(account), await add(account)];
    // The second event fails once.
    const failing = new Set([ids[1]]);
    answer = ({ id }) => (failing.delete(id) ? no : ok);
    let left = nth;
    const dead = new Error("killed");
    const dying =
      <Args extends unknown[], T>(name: string, call: (...args: Args) => Promise<T>) =>
      async (...args: Args): Promise<T> => {
        if (name !== method || --left !== 0) return call(...args);
        if (when === "after") await call(...args);
        throw dead;
      };
    const killed = deliverDue({
      store: {
        ...store,
        lease: dying("lease", store.lease),
        first: dying("first", store.first),
        end: dying("end", store.end),
        retry: dying("retry", store.retry),
        release: dying("release", store.release),
      },
      send: dying("send", async (_: unknown, sent: Sent) => {
        seen.push(sent.id);
        return answer(sent);
      }),
      clock,
      logger: silentLogger as Logger,
      observe: () => undefined,
    });
    await killed(endpoint).catch((error) => expect(error).toBe(dead));
    for (let i = 0; i < 4; i++) {
      clock.advance(LEASE_MS);
      await work();
    }
    expect((await rows()).map(({ state }) => state)).toEqual(["delivered", "delivered", "delivered"]);
    expect([...new Set(seen)]).toEqual(ids);
    expect(seen.length).toBeLessThanOrEqual(5);
    expect(await queues()).toBe(0);
  });

  it("while an event is added leaves neither a message without a queue nor one that is lost", async () => {
    const account = newAccount();
    for (let i = 0; i < 30; i++) {
      // An addition and the release of the emptied queue at once.
      const [id] = await Promise.all([add(account), work()]);
      await work();
      expect(await stateOf(id)).toBe("delivered");
    }
    expect(await queues()).toBe(0);
  });
});

describe("replay", () => {
  it("sends one event, those of a time, or only the dead again, with the same ids, each once", async () => {
    const account = newAccount();
    const first = await add(account);
    clock.advance(HOUR_MS);
    const middle = clock.now();
    const second = await add(account);
    const third = await add(newAccount());
    await work();
    await postgres.execute(sql`UPDATE webhook_delivery SET state = 'dead' WHERE event_id = ${second}::uuid`);
    seen = [];
    const replay = async (of: Partial<Parameters<WebhookStore["replay"]>[0]>) => {
      clock.advance(1_000);
      const count = await store.replay({ endpoint: "wallet", deadOnly: false, ...of }, clock.now());
      await work();
      return [count, seen.splice(0).toSorted()];
    };
    expect(await replay({ deadOnly: true })).toEqual([1, [second]]);
    expect(await replay({ eventId: first })).toEqual([1, [first]]);
    expect(await replay({ from: middle })).toEqual([2, [second, third].toSorted()]);
    expect(await replay({ to: middle })).toEqual([1, [first]]);
    expect(await replay({ endpoint: "game", from: new Date(0) })).toEqual([0, []]);
    expect(await replay({ eventId: uuidv7(clock) })).toEqual([0, []]);
  });

  it("that dies in the middle is repeated without harm: each event is sent once, in order", async () => {
    const account = newAccount();
    const ids = [await add(account), await add(account), await add(account), await add(account)];
    await postgres.execute(sql`UPDATE webhook_delivery SET state = 'dead', ended_at = ${clock.now()}`);
    await postgres.execute(sql`DELETE FROM webhook_queue`);
    const dead = { endpoint: "wallet", deadOnly: true };
    let left = 2;
    const dying = postgresWebhookStore({
      ...postgres,
      transaction: (...args: Parameters<typeof postgres.transaction>) => {
        if (left-- === 0) throw new Error("killed");
        return postgres.transaction(...args);
      },
    } as typeof postgres);
    clock.advance(1_000);
    await expect(dying.replay(dead, clock.now())).rejects.toThrow("killed");
    expect((await rows()).map(({ state }) => state)).toEqual(["waiting", "waiting", "dead", "dead"]);
    // The first half may have arrived by then.
    await work();
    clock.advance(1_000);
    expect(await store.replay(dead, clock.now())).toBe(2);
    expect(await store.replay(dead, clock.now())).toBe(0);
    await work();
    expect(seen).toEqual(ids);
    expect((await rows()).map(({ state }) => state)).toEqual(Array(4).fill("delivered"));
    expect(await queues()).toBe(0);
  });

  it("of more than one batch ends although what it replays is delivered meanwhile", async () => {
    await postgres.execute(sql`
      INSERT INTO webhook_delivery SELECT gen_random_uuid(), 'wallet', gen_random_uuid(), 't', '{}', 'delivered', 1, '',
        ${clock.now()}, ${clock.now()}, ${clock.now()}, ${clock.now()} FROM generate_series(1, 1100)`);
    clock.advance(1_000);
    const replaying = store.replay({ endpoint: "wallet", from: new Date(0), deadOnly: false }, clock.now());
    const delivering = (async () => {
      for (let i = 0; i < 30; i++) await process()(endpoint);
    })();
    expect(await replaying).toBe(1_100);
    await delivering;
  });
});

it("rows are forgotten ten days after their event or replay, and the state of an endpoint says what waits", async () => {
  const account = newAccount();
  answer = () => no;
  const oldestAt = new Date(clock.now().getTime() + 1);
  await add(account);
  await add(account);
  await work();
  expect(await store.states(["wallet", "game"])).toEqual([
    { endpoint: "wallet", waiting: 2, dead: 0, oldestAt, lastError: "status 500" },
    { endpoint: "game", waiting: 0, dead: 0, oldestAt: undefined, lastError: "" },
  ]);
  clock.advance(9 * 24 * HOUR_MS);
  expect([await store.forget(clock.now()), (await rows()).length]).toEqual([false, 2]);
  clock.advance(2 * 24 * HOUR_MS);
  expect([await store.forget(clock.now()), (await rows()).length, await queues()]).toEqual([false, 0, 0]);
});

it("erasing a person removes the messages about them, but for the one that says so", async () => {
  const account = newAccount();
  answer = () => no;
  await add(account);
  const erased = await add(account, ["wallet"], "account.erased");
  const others = await add(newAccount());
  await erasePerson(postgres)(account);
  expect((await rows()).map(({ eventId }) => eventId)).toEqual([erased, others]);
  answer = () => ok;
  clock.advance(LEASE_MS);
  await work();
  expect(await queues()).toBe(0);
});
