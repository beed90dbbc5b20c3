import { minuteOf } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { beforeEach, expect, it } from "vitest";
import { createSignatureLimit } from "./signature-limit.ts";

let clock: FixedClock;
let limit: ReturnType<typeof createSignatureLimit>;
beforeEach(() => {
  clock = new FixedClock("2026-11-21T10:00:20Z");
  limit = createSignatureLimit(clock, 3);
});

/** Returns after how many seconds a refused request may come again; undefined where it begins. */
function retryOf(id: string): number | undefined {
  try {
    limit.requireWithinLimit(id)();
    return undefined;
  } catch (error) {
    return (error as { retryAfterSeconds?: number }).retryAfterSeconds;
  }
}

it("requests under way and the minute's refusals count together", () => {
  limit.noteRefusal("one");
  limit.noteRefusal("one");
  const end = limit.requireWithinLimit("one");
  expect([retryOf("one"), retryOf("other")]).toEqual([1, undefined]);
  end();
  expect(retryOf("one")).toBeUndefined();
});

it("after as many refusals, requests begin again with the next minute", () => {
  for (let i = 0; i < 3; i++) limit.noteRefusal("one");
  expect([retryOf("one"), retryOf("other")]).toEqual([40, undefined]);
  clock.advance(40_000);
  expect(retryOf("one")).toBeUndefined();
});

it("ids that the database counts are over their limits side by side", () => {
  for (const id of ["one", "other"]) limit.reject(id, minuteOf(clock.now()));
  expect([retryOf("one"), retryOf("other")]).toEqual([40, 40]);
});
