import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { answerItems } from "./answer-items.ts";
import { MAX_ITEMS_PER_MESSAGE } from "./message-size.ts";

/** Begins to answer a caller that sends messages as fast as they are read; `worked`: the items worked on. */
function answering() {
  const [draining, over] = [new AbortController(), new AbortController()];
  const turn = { wait: () => new Promise<unknown>(setImmediate) };
  let sent = 0;
  let worked = 0;
  async function* messages() {
    for (;;) {
      await turn.wait();
      yield Array.from({ length: 64 }, () => ({ id: ++sent }));
    }
  }
  const work = async ({ id }: { id: number }) => {
    worked += 1;
    return { id };
  };
  const answers = answerItems(messages(), { draining: draining.signal, signal: over.signal }, work, () => 1);
  return {
    ...{ answers, turn, over },
    worked: () => worked,
    listeners: () => getEventListeners(draining.signal, "abort").length,
  };
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 100));

it("reads nothing more from a caller that does not take its answers, and goes on when it does", async () => {
  const { answers, worked, over } = answering();
  await answers.next();
  await pause();
  const held = worked();
  expect(held).toBeLessThanOrEqual(512 + 2 * MAX_ITEMS_PER_MESSAGE);
  for (let count = 0; count < 4; count++) await answers.next();
  await expect.poll(worked).toBeGreaterThan(held);
  over.abort();
});

it("works on nothing that arrives after the call is over, and keeps nothing of it", async () => {
  const { answers, worked, listeners, turn, over } = answering();
  const isSent = Promise.withResolvers<void>();
  await answers.next();
  turn.wait = () => isSent.promise.then(() => new Promise(setImmediate));
  await pause();
  const before = worked();
  over.abort();
  isSent.resolve();
  await pause();
  expect(worked()).toBe(before);
  expect(listeners()).toBe(0);
});
