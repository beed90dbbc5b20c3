import { uuidv7 } from "@countersign/core";
import { eventRow } from "@countersign/events";
import { type Postgres, type Queries, sql } from "@countersign/postgres";
import { describe, expect, it, vi } from "vitest";
import { erasePerson } from "../store/account-readings.ts";
import { postgresWebhookStore } from "../store/postgres-webhook-store.ts";
import { postgres, prisma } from "../testing/store-fixture.ts";
import { no, ok, webhookQueues } from "../testing/webhook-queues.ts";
import { LEASE_MS, pauseMs } from "./deliver.ts";
import type { Attempt } from "./send.ts";

const HOUR_MS = 3_600_000;
const world = webhookQueues();
const { add, newAccount, queues, rows, stateOf, work } = world;
/** Whether a statement waits for a lock. */
const isLocked = async () => {
  const waiting = sql`
    SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  return (await postgres.query(waiting)).length > 0;
};

describe("delivery", () => {
  it("sends an account's events in their order, each once, and leaves no queue behind", async () => {
    const account = newAccount();
    const ids = [await add(account), await add(account), await add(account)];
    await work();
    expect(world.seen).toEqual(ids);
    expect((await rows()).map(({ state }) => state)).toEqual(["delivered", "delivered", "delivered"]);
    expect(await queues()).toBe(0);
    await work();
    expect(world.seen).toHaveLength(3);
  });

  it("of events that were made in one millisecond keeps their order, also if they reach the queue in another", async () => {
    const account = newAccount();
    const context = { accountId: account, occurredAt: world.clock.now() };
    vi.useFakeTimers({ now: world.clock.now(), toFake: ["Date"] });
    const ids = Array.from({ length: 20 }, () => eventRow("device", "device-updated", context, {}).id);
    vi.useRealTimers();
    expect(new Set(ids.map((id) => id.slice(0, 13))).size).toBe(1);
    for (const eventId of ids.toReversed())
      await world.store.add({
        eventId,
        accountId: account,
        endpoints: ["wallet"],
        type: "t",
        body: "{}",
        now: world.clock.now(),
      });
    await work();
    expect(world.seen).toEqual(ids);
  });

  it("of a repeated event is one", async () => {
    const account = newAccount();
    const id = await add(account);
    const again = () =>
      world.store.add({
        eventId: id,
        accountId: account,
        endpoints: ["wallet"],
        type: "t",
        body: "other",
        now: world.clock.now(),
      });
    await again();
    await work();
    await again();
    await work();
    expect(world.seen).toEqual([id]);
    expect(await queues()).toBe(0);
  });

  it("that fails holds back later events of that account at that endpoint, and no others", async () => {
    const [one, other] = [newAccount(), newAccount()];
    const failing = await add(one, ["wallet", "game"]);
    const later = await add(one);
    const free = await add(other);
    world.answer = ({ id }) => (id === failing ? no : ok);
    await work();
    expect(world.seen.toSorted()).toEqual([failing, free].toSorted());
    await work("game");
    expect(world.seen.filter((id) => id === failing)).toHaveLength(2);
    world.clock.advance(4_000);
    await work();
    expect(world.seen).not.toContain(later);
    world.answer = () => ok;
    world.clock.advance(3_000);
    await work();
    expect(world.seen.slice(-2)).toEqual([failing, later]);
  });

  it("is tried with growing pauses for three days, then is dead, and the next one follows", async () => {
    const account = newAccount();
    const first = await add(account);
    const started = world.clock.now().getTime();
    world.answer = ({ id }) => (id === first ? no : ok);
    const second = await add(account);
    const attempts: number[] = [];
    while ((await stateOf(first)) === "waiting") {
      const before = world.seen.length;
      await work();
      if (world.seen.length > before) attempts.push(world.clock.now().getTime() - started);
      world.clock.advance(60_000);
      if (world.clock.now().getTime() - started > 100 * HOUR_MS) break;
    }
    const [last = 0] = attempts.slice(-1);
    expect(last).toBeGreaterThanOrEqual(72 * HOUR_MS);
    expect(last).toBeLessThan(80 * HOUR_MS);
    expect(attempts.length).toBeGreaterThan(15);
    expect(attempts.length).toBeLessThan(30);
    expect((await rows()).map(({ state }) => state)).toEqual(["dead", "delivered"]);
    expect(world.seen.at(-1)).toBe(second);
    expect(world.outcomes.filter((each) => each === "dead")).toHaveLength(1);
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
    const addMany = (accountId: string, endpoint: string, state: string) =>
      postgres.execute(sql`
        INSERT INTO webhook_delivery SELECT ${accountId}::uuid, ${endpoint}, gen_random_uuid(), 't', '{}', ${state}, 0, '',
          ${world.clock.now()}, ${world.clock.now()}, ${world.clock.now()}, NULL FROM generate_series(1, 1000)`);
    await addMany(account, "wallet", "delivered");
    await addMany(account, "game", "waiting");
    await addMany(newAccount(), "wallet", "waiting");
    expect(await stateOf(await add(account))).toBe("waiting");
    await addMany(account, "wallet", "waiting");
    const id = await add(account);
    expect((await rows()).find(({ eventId }) => eventId === id)).toMatchObject({
      state: "dead",
      result: "too many wait",
    });
    expect(
      await world.store.replay(
        { endpoint: "wallet", eventId: id, deadOnly: true },
        new Date(world.clock.now().getTime() + 1),
      ),
    ).toMatchObject({ replayed: 1 });
    expect(await stateOf(id)).toBe("waiting");
    expect(await stateOf(await add(account, ["wallet"], "account.erased"))).toBe("waiting");
  });
});

describe("several processes", () => {
  it("send each event once, in the order of its account", async () => {
    const accounts = Array.from({ length: 12 }, newAccount);
    const ids = new Map<string, string[]>(accounts.map((each) => [each, []]));
    for (let i = 0; i < 4; i++) for (const account of accounts) ids.get(account)!.push(await add(account));
    world.answer = async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return ok;
    };
    const drained = async () => {
      for (let i = 0; i < 20; i++) await work();
    };
    await Promise.all([drained(), drained(), drained()]);
    expect(world.seen).toHaveLength(48);
    for (const own of ids.values()) expect(world.seen.filter((id) => own.includes(id))).toEqual(own);
    expect(await queues()).toBe(0);
  });

  it("that add or replay and release at once leave no message without a queue, and none that adds ends a lease", async () => {
    const account = newAccount();
    const [ended, until] = [await add(account), new Date(world.clock.now().getTime() + LEASE_MS)];
    const lease = () => world.store.lease("wallet", 1, world.clock.now(), until);
    const [queue, ...more] = (await Promise.all([lease(), lease(), lease()])).flat();
    expect(more).toEqual([]);
    await world.store.end(queue!, ended, "delivered", "", world.clock.now());
    let isReleased = false;
    let releasing = Promise.resolve();
    const isWaiting = async () => isReleased || (await isLocked());
    const adding = postgresWebhookStore({
      ...postgres,
      transaction: (work) =>
        postgres.transaction(async (tx) => {
          const result = await work(tx);
          releasing = world.store.release(queue!, world.clock.now()).then(() => {
            isReleased = true;
          });
          await expect.poll(isWaiting).toBe(true);
          return result;
        }),
    });
    const message = { accountId: account, endpoints: ["wallet"], type: "t", body: "{}", now: world.clock.now() };
    await world.store.add({ ...message, eventId: uuidv7(world.clock) });
    expect(await lease()).toEqual([]);
    await postgres.execute(sql`DELETE FROM webhook_delivery WHERE state = 'waiting'`);
    const eventId = uuidv7(world.clock);
    await adding.add({ ...message, eventId });
    await releasing;
    expect(await queues()).toBe(1);
    const [leased] = await lease();
    await world.store.end(leased!, eventId, "delivered", "", world.clock.now());
    isReleased = false;
    await adding.replay({ endpoint: "wallet", eventId, deadOnly: false }, until);
    await releasing;
    expect(await queues()).toBe(1);
  });

  it("record an attempt of a message that waits at that endpoint, and release no lease that is over", async () => {
    const [id, now] = [await add(newAccount(), ["wallet", "game"]), world.clock.now()];
    const [until, later] = [1, 2].map((ms) => new Date(now.getTime() + ms)) as [Date, Date];
    const [queue] = await world.store.lease("wallet", 1, now, until);
    await world.store.lease("game", 1, now, until);
    const recorded = () =>
      postgres.query(sql`
        SELECT endpoint, state, attempts, due_at FROM webhook_delivery JOIN webhook_queue USING (account_id, endpoint)
        ORDER BY endpoint DESC`);
    const ofGame = { endpoint: "game", state: "waiting", attempts: 0, due_at: until };
    await world.store.retry(queue!, id, "status 500", later);
    await world.store.release(queue!, now);
    const tried = { endpoint: "wallet", state: "waiting", attempts: 1, due_at: later };
    expect(await recorded()).toEqual([tried, ofGame]);
    await world.store.end(queue!, id, "delivered", "status 200", now);
    await world.store.end(queue!, id, "dead", "status 500", now);
    await world.store.retry(queue!, id, "status 500", now);
    expect(await recorded()).toEqual([{ ...tried, state: "delivered", attempts: 2 }, ofGame]);
  });

  it("lease and release the queue of one account at one endpoint, and no other", async () => {
    const now = world.clock.now();
    const at = (ms: number) => new Date(now.getTime() + ms);
    const [eventId, one, other] = [uuidv7(world.clock), newAccount(), newAccount()];
    for (const accountId of [one, other])
      await world.store.add({ eventId, accountId, endpoints: ["wallet", "game"], type: "t", body: "{}", now });
    /** Returns when the queues are due, those of `one` first; undefined for none. */
    const due = async () => {
      const found = await postgres.query<{ name: string; due_at: Date }>(sql`
        SELECT concat(account_id, '/', endpoint) AS name, due_at FROM webhook_queue`);
      const times = new Map(found.map(({ name, due_at }) => [name, due_at.getTime() - now.getTime()]));
      return [one, other].flatMap((account) =>
        ["wallet", "game"].map((endpoint) => times.get(`${account}/${endpoint}`)),
      );
    };
    const leased = await world.store.lease("wallet", 2, now, at(9));
    expect(leased.map(({ accountId }) => accountId).toSorted()).toEqual([one, other].toSorted());
    expect(await due()).toEqual([9, 0, 9, 0]);
    expect(await world.store.lease("game", 2, now, at(9))).toHaveLength(2);
    const queue = { accountId: one, endpoint: "wallet", leasedUntil: at(9) };
    await world.store.release(queue, at(1));
    await world.store.release(queue, at(2));
    expect(await due()).toEqual([1, 9, 9, 9]);
    await world.store.lease("wallet", 2, at(1), at(9));
    await world.store.end(queue, eventId, "delivered", "", now);
    await world.store.release(queue, at(3));
    expect(await due()).toEqual([undefined, 9, 9, 9]);
  });

  it("do not send while another one's attempt hangs, and take over after its lease", async () => {
    const account = newAccount();
    const id = await add(account);
    const hung = Promise.withResolvers<Attempt>();
    world.answer = () => hung.promise;
    const hanging = work();
    await expect.poll(() => world.seen).toEqual([id]);
    world.answer = () => ok;
    world.clock.advance(LEASE_MS - 1);
    await work();
    expect(world.seen).toEqual([id]);
    world.clock.advance(1);
    await work();
    expect(world.seen).toEqual([id, id]);
    const after = await add(account);
    // Late, it changes nothing of what the other one recorded, and gives back no lease that is not its own.
    hung.resolve(no);
    await hanging;
    expect(await stateOf(id)).toBe("delivered");
    await work();
    expect(world.seen).toEqual([id, id, after]);
    expect(await queues()).toBe(0);
  });
});

it("rows are forgotten ten days after their event or replay, and the state of an endpoint says what waits", async () => {
  const account = newAccount();
  world.answer = () => no;
  const oldestAt = new Date(world.clock.now().getTime() + 1);
  await add(account);
  await add(account);
  await work();
  expect(await world.store.states(["wallet", "game"])).toEqual([
    { endpoint: "wallet", waiting: 2, dead: 0, oldestAt, lastError: "status 500" },
    { endpoint: "game", waiting: 0, dead: 0, oldestAt: undefined, lastError: "" },
  ]);
  world.clock.advance(9 * 24 * HOUR_MS);
  expect([await world.store.forget(world.clock.now()), (await rows()).length]).toEqual([false, 2]);
  world.clock.advance(2 * 24 * HOUR_MS);
  expect([await world.store.forget(world.clock.now()), (await rows()).length, await queues()]).toEqual([false, 0, 0]);
});

it("erasing a person removes the messages about them, but for the one that says so", async () => {
  const account = newAccount();
  world.answer = () => no;
  await add(account);
  const erased = await add(account, ["wallet"], "account.erased");
  const others = await add(newAccount());
  await erasePerson(postgres)(account);
  expect((await rows()).map(({ eventId }) => eventId)).toEqual([erased, others]);
  world.answer = () => ok;
  world.clock.advance(LEASE_MS);
  await work();
  expect(await queues()).toBe(0);
});

it("a statement of an erasure deletes at most a thousand rows, and waits for those that somebody has locked", async () => {
  const account = newAccount();
  const id = await add(account);
  await postgres.execute(sql`
    INSERT INTO webhook_delivery SELECT (json_populate_record(d, json_build_object('event_id', gen_random_uuid()))).*
    FROM webhook_delivery AS d, generate_series(1, 2500)`);
  await postgres.execute(sql`
    INSERT INTO delivery SELECT event_id, 'notice', account_id, 't', created_at FROM webhook_delivery`);
  const deleted: number[] = [];
  const counting = ({ query, execute }: Queries): Queries => ({
    query,
    async execute(statement) {
      const count = await execute(statement);
      deleted.push(count);
      return count;
    },
  });
  const transaction: Postgres["transaction"] = (work) => postgres.transaction((tx) => work(counting(tx)));
  const erasing = await postgres.transaction(async (tx) => {
    await tx.query(sql`SELECT FROM webhook_delivery WHERE event_id = ${id}::uuid FOR UPDATE`);
    const erased = erasePerson({ ...postgres, ...counting(postgres), transaction })(account);
    await expect.poll(isLocked, { timeout: 10_000 }).toBe(true);
    return [erased];
  });
  await Promise.all(erasing);
  expect([Math.max(...deleted), await rows()]).toEqual([1_000, []]);
  expect(await prisma.delivery.count({ where: { accountId: account } })).toBe(0);
});
