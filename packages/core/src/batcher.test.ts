import { expect, it } from "vitest";
import { createBatcher } from "./batcher.ts";

it("writes items that arrive during a write together, in order and once", async () => {
  const batches: number[][] = [];
  const gates: (() => void)[] = [];
  const write = createBatcher<number, string>(async (items) => {
    batches.push([...items]);
    await new Promise<void>((resolve) => gates.push(resolve));
    return items.map(String);
  }, 3);
  const first = write(1);
  await expect.poll(() => gates.length).toBe(1);
  const others = [2, 3, 4, 5].map((item) => write(item));
  gates.shift()!();
  await first;
  await expect.poll(() => gates.length).toBe(1);
  gates.shift()!();
  await Promise.all(others.slice(0, 3));
  await expect.poll(() => gates.length).toBe(1);
  gates.shift()!();
  await Promise.all(others);
  expect(batches).toEqual([[1], [2, 3, 4], [5]]);
});

it("writes items of one turn of the event loop together", async () => {
  const batches: number[][] = [];
  const write = createBatcher<number, void>(async (items) => {
    batches.push([...items]);
    return [];
  });
  await Promise.all([write(1), Promise.resolve().then(() => write(2)), write(3)]);
  await write(4);
  expect(batches).toEqual([[1, 3, 2], [4]]);
});

it("fails all items of a failed write, and continues with the next", async () => {
  let failing = true;
  const write = createBatcher<number, void>(async () => {
    if (failing) throw new Error("lost Postgres");
    return [];
  });
  await expect(write(1)).rejects.toThrow("lost Postgres");
  failing = false;
  await write(2);
});

it("with a wait, writes items of that time together", async () => {
  const batches: number[][] = [];
  const run = async (items: readonly number[]) => {
    batches.push([...items]);
    return [];
  };
  const write = createBatcher<number, void>(run, undefined, 50);
  const first = write(1);
  await new Promise(setImmediate);
  await Promise.all([first, write(2)]);
  expect(batches).toEqual([[1, 2]]);
});
