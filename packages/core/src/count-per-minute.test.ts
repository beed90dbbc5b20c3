import { expect, it } from "vitest";
import { limitPerMinute } from "./count-per-minute.ts";
import { FixedClock } from "./testing/fixed-clock.ts";

it("lets an account call so often in a minute, others as well, and again in the next one", () => {
  const clock = new FixedClock("2026-11-20T10:00:15Z");
  const limit = limitPerMinute(clock);
  const count = (id: string) => limit(id, 2);
  count("a");
  count("a");
  expect(() => count("a")).toThrow(expect.objectContaining({ reason: "RateLimited", retryAfterSeconds: 45 }));
  count("b");
  clock.advance(45_000);
  count("a");
});
