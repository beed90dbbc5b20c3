import { describe, expect, it } from "vitest";
import { CorrectedClock } from "./clock.ts";

const availableAt = Date.parse("2026-11-23T12:00:05.000Z");

describe.each([0, 1, 499, 500, 999])("a server's time %i ms after a full second", (fraction) => {
  it.each([0, -86_400_000, 86_400_000])("on a device that is %i ms off", (offset) => {
    let server = availableAt - 5_000 + fraction;
    const clock = new CorrectedClock(() => server + offset);
    clock.note(new Date(server).toUTCString());
    expect(Math.abs(clock.now() - server)).toBeLessThanOrEqual(500);
    const wait = clock.until(new Date(availableAt).toISOString());
    server += wait - 1;
    expect(clock.until(new Date(availableAt).toISOString())).toBe(1);
    server += 1;
    // One who waits as long is not refused, and waits no more than a second too long.
    expect(server).toBeGreaterThanOrEqual(availableAt);
    expect(server).toBeLessThan(availableAt + 1_000);
    expect(clock.until(new Date(availableAt).toISOString())).toBe(0);
  });
});

it("a text that is no time never comes", () => {
  expect(new CorrectedClock(() => availableAt).until("soon")).toBe(Number.POSITIVE_INFINITY);
});

it("without an answer of the server, the time is the device's; a header that is no date changes nothing", () => {
  const clock = new CorrectedClock(() => availableAt - 2_000);
  clock.note(null);
  clock.note("yesterday");
  expect(clock.isKnown).toBe(false);
  expect(clock.now()).toBe(availableAt - 2_000);
  expect(clock.until(new Date(availableAt).toISOString())).toBe(2_000);
});
