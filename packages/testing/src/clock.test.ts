import { expect, it } from "vitest";
import { TestClock } from "./clock.ts";

const START = Date.parse("2030-01-01T00:00:00Z");

it("shows the same time until it is moved, in both directions", () => {
  const clock = new TestClock("2030-01-01T00:00:00Z");
  const { now } = clock;
  expect(now()).toBe(START);
  clock.advance(1_500);
  expect(now()).toBe(START + 1_500);
  clock.set("2015-01-01T00:00:00Z");
  expect(now()).toBe(Date.parse("2015-01-01T00:00:00Z"));
  expect(() => clock.advance(-1)).toThrow(RangeError);
  expect(() => clock.set("tomorrow")).toThrow(TypeError);
  expect(() => new TestClock("tomorrow")).toThrow(TypeError);
});

it("wakes the sleeping in the order of their times, and nobody too early", async () => {
  const clock = new TestClock(START);
  const woken: number[] = [];
  const slept = [200, 100, 300].map((ms) => clock.sleep(ms).then(() => woken.push(ms)));
  clock.advance(99);
  await Promise.resolve();
  expect(woken).toEqual([]);
  clock.advance(101);
  await Promise.all(slept.slice(0, 2));
  expect(woken).toEqual([100, 200]);
  clock.advance(100);
  await slept[2];
  expect(woken).toEqual([100, 200, 300]);
  await clock.sleep(0);
});

it("a sleep ends with its signal", async () => {
  const clock = new TestClock(START);
  const controller = new AbortController();
  const slept = clock.sleep(100, controller.signal);
  controller.abort(new Error("no longer wanted"));
  await expect(slept).rejects.toThrow("no longer wanted");
  await expect(clock.sleep(100, controller.signal)).rejects.toThrow("no longer wanted");
  clock.advance(100);
});
