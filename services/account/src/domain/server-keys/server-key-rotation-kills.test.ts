import { expect, it } from "vitest";
import { signal } from "../../testing/chain-account.ts";
import {
  activeServerKeys,
  list,
  prepared,
  reconcile,
  reconcileOpen,
  reset,
  rotate,
  serverKeys,
  world,
} from "../../testing/server-key-rotations.ts";

it("killed before or after any call, a rotation is done or nothing has happened, and asking again does it", async () => {
  let kills = 0;
  for (let at = 1; ; at++) {
    reset();
    world.diesAt = at;
    const done = await (async () => reconcile(await rotate(await prepared()), signal))().then(
      () => true,
      (error: Error) => {
        if (error.message !== "killed") throw error;
        return false;
      },
    );
    const dead = world.calls >= at;
    world.diesAt = Number.POSITIVE_INFINITY;
    // The next process: the reconciling job goes on, and the person asks again.
    await reconcileOpen();
    for (const { message } of await list()) await rotate(message);
    await reconcileOpen();
    expect(world.bound, `killed at call ${at}`).toBe(2);
    expect(activeServerKeys(), `killed at call ${at}`).toMatchObject([{ index: 2, publicKey: serverKeys[2] }]);
    expect(world.keys).toHaveLength(3);
    expect(await list()).toEqual([]);
    if (done && !dead) break;
    kills += 1;
  }
  expect(kills).toBeGreaterThan(30);
});
