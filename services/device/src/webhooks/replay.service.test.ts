import { uuidv7 } from "@countersign/core";
import { sql } from "@countersign/postgres";
import { describe, expect, it } from "vitest";
import { postgresWebhookStore } from "../store/postgres-webhook-store.ts";
import { postgres } from "../testing/store-fixture.ts";
import { no, webhookQueues } from "../testing/webhook-queues.ts";
import type { WebhookStore } from "./ports.ts";

const HOUR_MS = 3_600_000;
const world = webhookQueues();
const { add, newAccount, queues, rows, work } = world;

describe("replay", () => {
  it("sends one event, those of a time, or only the dead again, with the same ids, each once", async () => {
    const account = newAccount();
    const first = await add(account, ["wallet", "game"]);
    world.clock.advance(HOUR_MS);
    const second = await add(account);
    const middle = world.clock.now();
    const third = await add(newAccount());
    await work();
    await work("game");
    await postgres.execute(sql`UPDATE webhook_delivery SET state = 'dead' WHERE event_id = ${second}::uuid`);
    world.seen = [];
    const replay = async (of: Partial<Parameters<WebhookStore["replay"]>[0]>) => {
      world.clock.advance(1_000);
      const { replayed: count } = await world.store.replay(
        { endpoint: "wallet", deadOnly: false, ...of },
        world.clock.now(),
      );
      await work();
      return [count, world.seen.splice(0).toSorted()];
    };
    expect(await replay({ deadOnly: true })).toEqual([1, [second]]);
    expect(await replay({ eventId: first })).toEqual([1, [first]]);
    expect(await replay({ from: middle })).toEqual([2, [second, third].toSorted()]);
    expect(await replay({ to: middle })).toEqual([1, [first]]);
    expect(await replay({ endpoint: "game", from: middle })).toEqual([0, []]);
    expect(await replay({ eventId: uuidv7(world.clock) })).toEqual([0, []]);
    expect((await rows()).map(({ state }) => state)).toEqual(Array(4).fill("delivered"));
    expect(await queues()).toBe(0);
  });

  it("that dies in the middle is repeated without harm: each event is sent once, in order", async () => {
    const account = newAccount();
    const ids = [await add(account), await add(account), await add(account), await add(account)];
    await postgres.execute(sql`UPDATE webhook_delivery SET state = 'dead', ended_at = ${world.clock.now()}`);
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
    world.clock.advance(1_000);
    await expect(dying.replay(dead, world.clock.now())).rejects.toThrow("killed");
    expect((await rows()).map(({ state }) => state)).toEqual(["waiting", "waiting", "dead", "dead"]);
    // The first half may have arrived by then.
    await work();
    world.clock.advance(1_000);
    expect(await world.store.replay(dead, world.clock.now())).toMatchObject({ replayed: 2 });
    expect(await world.store.replay(dead, world.clock.now())).toMatchObject({ replayed: 0 });
    await work();
    expect(world.seen).toEqual(ids);
    expect((await rows()).map(({ state }) => state)).toEqual(Array(4).fill("delivered"));
    expect(await queues()).toBe(0);
  });

  it("of a message begins it again, with its attempts and its days, and ends no pause of its queue", async () => {
    const account = newAccount();
    const ended = await add(account);
    await work();
    world.clock.advance(9 * 24 * HOUR_MS);
    world.answer = () => no;
    const waiting = await add(account);
    await work();
    world.clock.advance(1_000);
    const ofAll = { endpoint: "wallet", deadOnly: false };
    expect(await world.store.replay(ofAll, world.clock.now())).toEqual({ replayed: 1, nextFrom: undefined });
    await work();
    expect(world.seen).toEqual([ended, waiting]);
    expect(await rows()).toEqual([
      { eventId: ended, state: "waiting", attempts: 0, result: "replayed" },
      { eventId: waiting, state: "waiting", attempts: 1, result: "status 500" },
    ]);
    world.clock.advance(2 * 24 * HOUR_MS);
    await world.store.forget(world.clock.now());
    await work();
    expect((await rows())[0]).toMatchObject({ eventId: ended, state: "waiting", attempts: 1 });
  });

  it("takes 500 messages at once, and ends although they are delivered meanwhile", async () => {
    const begun = world.clock.now();
    await postgres.execute(sql`
      INSERT INTO webhook_delivery SELECT gen_random_uuid(), 'wallet', gen_random_uuid(), 't', '{}', 'delivered', 1, '',
        ${begun}::timestamptz + i / 100 * interval '1 ms', ${begun}, ${begun}, ${begun} FROM generate_series(0, 1099) AS i`);
    world.clock.advance(1_000);
    const endedBefore = world.clock.now();
    const counts: number[] = [];
    let from: Date | undefined = new Date(0);
    while (from) {
      world.clock.advance(1_000);
      const of = { endpoint: "wallet", from, endedBefore, deadOnly: false };
      const { replayed, nextFrom } = await world.store.replay(of, world.clock.now());
      counts.push(replayed);
      from = nextFrom;
      await postgres.execute(sql`
        UPDATE webhook_delivery SET state = 'delivered', ended_at = ${world.clock.now()} WHERE state = 'waiting'`);
    }
    expect(counts).toEqual([500, 500, 100]);
  });
});
