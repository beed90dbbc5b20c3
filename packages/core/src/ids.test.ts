import { expect, it } from "vitest";
import { FixedClock } from "./clock.ts";
import { isUuid, uuidv7 } from "./ids.ts";

it("ids by time have the clock's milliseconds, version and variant of RFC 9562, and differ", () => {
  const clock = new FixedClock("2022-02-22T19:22:22Z");
  const ids = Array.from({ length: 1_000 }, () => uuidv7(clock));
  for (const id of ids) expect(id).toMatch(/^017f22e2-79b0-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(ids.every(isUuid)).toBe(true);
  expect(new Set(ids).size).toBe(ids.length);
  clock.advance(1);
  expect(uuidv7(clock) > ids.sort().at(-1)!).toBe(true);
});
