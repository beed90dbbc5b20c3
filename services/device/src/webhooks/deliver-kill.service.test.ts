import { describe, expect, it } from "vitest";
import { no, ok, webhookQueues } from "../testing/webhook-queues.ts";
import { LEASE_MS } from "./deliver.ts";

const world = webhookQueues();
const { add, newAccount, queues, rows, stateOf, work } = world;

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
    world.answer = ({ id }) => (failing.delete(id) ? no : ok);
    let left = nth;
    const dead = new Error("killed");
    const dying =
      <Args extends unknown[], T>(name: string, call: (...args: Args) => Promise<T>) =>
      async (...args: Args): Promise<T> => {
        if (name !== method || --left !== 0) return call(...args);
        if (when === "after") await call(...args);
        throw dead;
      };
    const killed = world.newProcess({
      store: {
        ...world.store,
        lease: dying("lease", world.store.lease),
        first: dying("first", world.store.first),
        end: dying("end", world.store.end),
        retry: dying("retry", world.store.retry),
        release: dying("release", world.store.release),
      },
      send: dying("send", world.send),
    });
    await killed("wallet").catch((error) => expect(error).toBe(dead));
    for (let i = 0; i < 4; i++) {
      world.clock.advance(LEASE_MS);
      await work();
    }
    expect((await rows()).map(({ state }) => state)).toEqual(["delivered", "delivered", "delivered"]);
    expect([...new Set(world.seen)]).toEqual(ids);
    expect(world.seen.length).toBeLessThanOrEqual(5);
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
