import { describe, expect, it } from "vitest";
import { REQUEST_GOOD_FOR_MS, requireMayDecide } from "./two-persons.ts";

const at = new Date("2026-11-23T10:00:00Z");
const request = {
  ...{ id: "id", at, person: "ada", reason: "a ticket of today" },
  ...{ command: "accounts unfreeze", accountId: "account", arguments: {} },
};
const decided = (change: object, given: typeof request | undefined = request) => {
  const decision = { person: "grace", approve: true, isNamed: true, now: at, ...change };
  return () => requireMayDecide(given, decision);
};

describe("a decision about a request", () => {
  it.each([
    ["grace", true, 0, undefined],
    ["grace", false, 0, undefined],
    ["grace", true, REQUEST_GOOD_FOR_MS - 1, undefined],
    ["grace", true, REQUEST_GOOD_FOR_MS, "AdminRequestNotFound"],
    ["grace", false, REQUEST_GOOD_FOR_MS, "AdminRequestNotFound"],
    ["ada", true, 0, "SecondPersonRequired"],
    ["ada", false, 0, undefined],
  ] as const)("by %s, approving %s, after %d ms: %s", (person, approve, ms, refusal) => {
    const decide = decided({ person, approve, now: new Date(at.getTime() + ms) });
    if (refusal) expect(decide).toThrow(refusal);
    else expect(decide).not.toThrow();
  });

  it("names what the request is about where it approves; a rejection need not", () => {
    expect(decided({ isNamed: false })).toThrow("AdminRequestNotFound");
    expect(decided({ isNamed: false, approve: false })).not.toThrow();
  });

  it("of a request that is not there or was decided is refused", () => {
    expect(() => requireMayDecide(undefined, { person: "grace", approve: true, isNamed: true, now: at })).toThrow(
      "AdminRequestNotFound",
    );
  });

  it("is possible for 24 hours", () => {
    expect(REQUEST_GOOD_FOR_MS).toBe(86_400_000);
  });
});
