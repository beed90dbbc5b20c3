import { expect, it } from "vitest";
import { ok, webhookQueues } from "../testing/webhook-queues.ts";
import type { Attempt } from "./send.ts";

const world = webhookQueues();
const { add, newAccount, stateOf, work } = world;

/** Lets the receiver not answer a message until the returned function is called. */
function hang(hanging: string): () => void {
  const answer = Promise.withResolvers<Attempt>();
  world.answer = ({ id }) => (id === hanging ? answer.promise : ok);
  return () => answer.resolve(ok);
}
const expectSeen = (ids: readonly string[]) => expect.poll(() => world.seen).toEqual(expect.arrayContaining([...ids]));

it("an account that takes long does not hold up more others than are sent at once", async () => {
  const slow = await add(newAccount());
  const others: string[] = [];
  for (let n = 0; n < 25; n += 1) others.push(await add(newAccount()));
  const end = hang(slow);
  const working = work();
  await expectSeen(others);
  expect(await stateOf(slow)).toBe("waiting");
  end();
  await working;
  expect(await stateOf(slow)).toBe("delivered");
});

it("nor those whose messages come meanwhile: the next look finds them", async () => {
  const slow = await add(newAccount());
  const end = hang(slow);
  const deliver = world.newProcess();
  const working = deliver("wallet");
  await expectSeen([slow]);
  const other = await add(newAccount());
  await deliver("wallet");
  await expectSeen([other]);
  end();
  await working;
});

it("sends at most ten requests to an endpoint at once, however often it looks", async () => {
  const waiting: (() => void)[] = [];
  world.answer = () => new Promise((resolve) => waiting.push(() => resolve(ok)));
  for (let n = 0; n < 12; n += 1) await add(newAccount());
  const deliver = world.newProcess();
  const working = deliver("wallet");
  await expect.poll(() => waiting.length).toBe(10);
  await deliver("wallet");
  for (let sent = 10; sent <= 12; sent += 1) {
    await expect.poll(() => world.seen.length).toBe(sent);
    waiting.shift()!();
  }
  for (const answer of waiting) answer();
  await working;
  expect(world.seen).toHaveLength(12);
});

it("a process that stops ends after the message under way, and another one sends the next at once", async () => {
  const account = newAccount();
  const ids = [await add(account), await add(account), await add(account)];
  const end = hang(ids[0]!);
  let isStopping = false;
  const endpoint = (id: string) => (isStopping ? undefined : { id, appId: id, url: "", secrets: [], types: [] });
  const stopping = world.newProcess({ endpoint })("wallet");
  await expectSeen(ids.slice(0, 1));
  isStopping = true;
  end();
  await stopping;
  expect(world.seen).toEqual(ids.slice(0, 1));
  await work();
  expect(world.seen).toEqual(ids);
});

it("each message is sent with the settings that its endpoint has by then", async () => {
  const account = newAccount();
  for (let n = 0; n < 3; n += 1) await add(account);
  const urls: string[] = [];
  const endpoint = (id: string) => ({ id, appId: id, url: `https://${urls.length}.example`, secrets: [], types: [] });
  const send = async ({ url }: { url: string }) => {
    urls.push(url);
    return ok;
  };
  await world.newProcess({ endpoint, send })("wallet");
  expect(new Set(urls).size).toBe(3);
});

it("a failure of the database at one account does not keep the others from theirs", async () => {
  const failing = newAccount();
  const late = await add(failing);
  const others: string[] = [];
  for (let n = 0; n < 15; n += 1) others.push(await add(newAccount()));
  const { store } = world;
  const first: typeof store.first = (queue) =>
    queue.accountId === failing ? Promise.reject(new Error("connection lost")) : store.first(queue);
  await world.newProcess({ store: { ...store, first } })("wallet");
  expect(world.seen.toSorted()).toEqual(others.toSorted());
  expect(await stateOf(late)).toBe("waiting");
});

it("a failed look beside a slow account does not keep the others from theirs", async () => {
  const slow = await add(newAccount());
  const end = hang(slow);
  const { store } = world;
  let looks = 0;
  const lease: typeof store.lease = (...args) => {
    looks += 1;
    return looks === 2 ? Promise.reject(new Error("connection lost")) : store.lease(...args);
  };
  const deliver = world.newProcess({ store: { ...store, lease } });
  const working = deliver("wallet");
  await expectSeen([slow]);
  const other = await add(newAccount());
  await deliver("wallet");
  await expect.poll(() => looks).toBe(2);
  await deliver("wallet");
  await expectSeen([other]);
  end();
  await working;
});
