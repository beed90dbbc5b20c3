import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { AccountOnChain } from "../domain/ports.ts";
import { createDeploymentWaiters } from "./deployment-waiters.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const { signal } = new AbortController();
const of = (accountId: string, chainName = "flow"): AccountOnChain => ({ accountId, chainName });

/** Waiters whose database knows what is in `ended`. */
function open() {
  const state = {
    ended: [] as AccountOnChain[],
    asked: [] as (readonly AccountOnChain[])[],
    isBroken: false,
    warnings: 0,
  };
  const waiters = createDeploymentWaiters({
    async findEnded(deployments) {
      state.asked.push(deployments);
      if (state.isBroken) throw new Error("gone");
      return state.ended;
    },
    logger: {
      warn() {
        state.warnings += 1;
      },
    },
  });
  const woken: string[] = [];
  const wait = (deployment: AccountOnChain, ms = 20_000, until = signal) =>
    void waiters.wait(deployment, ms, until).then(() => woken.push(`${deployment.accountId}/${deployment.chainName}`));
  return { state, waiters, wait, woken };
}

it("asks once for all that wait, and only while any waits", async () => {
  const { state, wait, woken } = open();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(state.asked).toEqual([]);
  for (const each of [of("a"), of("a"), of("a", "other"), of("b")]) wait(each);
  await vi.advanceTimersByTimeAsync(100);
  expect(state.asked).toEqual([[of("a"), of("a", "other"), of("b")]]);
  state.ended = [of("a"), of("b")];
  await vi.advanceTimersByTimeAsync(100);
  // The account's deployment on another chain is still under way.
  expect(woken).toEqual(["a/flow", "a/flow", "b/flow"]);
  state.ended = [of("a", "other")];
  await vi.advanceTimersByTimeAsync(100);
  expect(woken).toHaveLength(4);
  const asked = state.asked.length;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(state.asked).toHaveLength(asked);
  // And again for the next one.
  wait(of("c"));
  state.ended = [of("c")];
  await vi.advanceTimersByTimeAsync(100);
  expect(woken).toHaveLength(5);
});

it("a deployment that this process has ended wakes at once, also all that wait for it again", async () => {
  const { state, waiters, wait, woken } = open();
  for (let round = 1; round <= 2; round++) {
    wait(of("a"));
    wait(of("a"));
    wait(of("a", "other"));
    waiters.wake(of("a"));
    await vi.advanceTimersByTimeAsync(0);
    expect(woken).toHaveLength(2 * round);
  }
  expect(state.asked).toEqual([]);
});

it("one that waits no longer leaves the others waiting", async () => {
  const { state, wait, woken } = open();
  const leaving = new AbortController();
  wait(of("a"), 20_000, leaving.signal);
  wait(of("a"), 250);
  wait(of("a"));
  leaving.abort();
  await vi.advanceTimersByTimeAsync(0);
  expect(woken).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(250);
  expect(woken).toHaveLength(2);
  state.ended = [of("a")];
  await vi.advanceTimersByTimeAsync(100);
  expect(woken).toHaveLength(3);
});

it("a database that does not answer is asked again, less often, and nobody waits longer than they said", async () => {
  const { state, wait, woken } = open();
  state.isBroken = true;
  wait(of("a"));
  wait(of("b"), 1_500);
  await vi.advanceTimersByTimeAsync(2_099);
  expect([state.asked.length, state.warnings, woken]).toEqual([2, 2, ["b/flow"]]);
  state.isBroken = false;
  state.ended = [of("a")];
  await vi.advanceTimersByTimeAsync(1);
  expect(woken).toEqual(["b/flow", "a/flow"]);
});
