import { describe, expect, it } from "vitest";
import { type AdminRequest, isOpen, judgeDecision, REQUEST_GOOD_FOR_MS } from "./two-persons.ts";

const requestedAt = new Date("2026-11-23T10:00:00Z");
const request: AdminRequest = {
  id: "id",
  requestedAt,
  person: "ada",
  command: "accounts unfreeze",
  accountId: "account",
  arguments: {},
};
const after = (ms: number) => new Date(requestedAt.getTime() + ms);

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
    expect(judgeDecision(request, { person, approve, accountId: "account", now: after(ms) })).toBe(refusal);
  });

  it("names the account of the request it approves; a rejection need not", () => {
    const decide = (approve: boolean, accountId?: string) =>
      judgeDecision(request, { person: "grace", approve, accountId, now: requestedAt });
    expect(decide(true, "another")).toBe("AdminRequestNotFound");
    expect(decide(true)).toBe("AdminRequestNotFound");
    expect(decide(false)).toBeUndefined();
  });

  it("of a request that is not there or was decided is refused", () => {
    const decision = { person: "grace", approve: true, accountId: "account", now: requestedAt };
    expect(judgeDecision(undefined, decision)).toBe("AdminRequestNotFound");
  });

  it("is possible for 24 hours", () => {
    expect(isOpen(request, after(24 * 3_600_000 - 1))).toBe(true);
    expect(isOpen(request, after(24 * 3_600_000))).toBe(false);
  });
});
