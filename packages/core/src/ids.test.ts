import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { isUuid, orderedUuidv7, uuidv7 } from "./ids.ts";
import { FixedClock } from "./testing/fixed-clock.ts";

it("ids by time have the clock's milliseconds, version and variant of RFC 9562, and differ", () => {
  const clock = new FixedClock("2022-02-22T19:22:22Z");
  const ids = Array.from({ length: 1_000 }, () => uuidv7(clock));
  for (const id of ids) expect(id).toMatch(/^017f22e2-79b0-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(ids.every(isUuid)).toBe(true);
  expect(new Set(ids).size).toBe(ids.length);
  clock.advance(1);
  expect(uuidv7(clock) > ids.sort().at(-1)!).toBe(true);
});

describe("ordered ids", () => {
  beforeEach(() => void vi.useFakeTimers({ now: Date.parse("2022-02-22T19:22:22Z"), toFake: ["Date"] }));
  afterEach(() => void vi.useRealTimers());

  it("of one millisecond are in the order in which they were made", () => {
    const ids = Array.from({ length: 10_000 }, orderedUuidv7);
    for (const id of ids) expect(id).toMatch(/^017f22e2-79b0-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(ids.every(isUuid)).toBe(true);
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids.map((id) => id.slice(-9))).size).toBeGreaterThan(9_990);
  });

  it("stay in order when the clock goes on, or is set back", () => {
    const at = [0, 1_000, -5_000, -4_999, 2_000].map((ms) => {
      vi.setSystemTime(Date.parse("2022-02-22T20:00:00Z") + ms);
      return orderedUuidv7();
    });
    expect(at.toSorted()).toEqual(at);
    expect(Number.parseInt(at[4]!.replace("-", "").slice(0, 12), 16)).toBe(Date.parse("2022-02-22T20:00:02Z"));
  });

  it("do not say how many were made", () => {
    const counts = [1, 2, 3].map((ms) => {
      vi.setSystemTime(Date.parse("2022-02-22T21:00:00Z") + ms);
      return orderedUuidv7().slice(15, 27);
    });
    expect(new Set(counts).size).toBe(3);
  });
});
