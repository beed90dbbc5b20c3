import { describe, expect, it } from "vitest";
import { memoryDeviceStore } from "../../testing/memory-device-store.ts";
import { memoryTwoFactorStore } from "../../testing/memory-two-factor-store.ts";
import { TRANSITIONS } from "../../testing/transitions.ts";
import { playTwoFactor } from "../../testing/two-factor-model.ts";
import { TWO_FACTOR_STATUSES, type TwoFactor } from "./two-factor.ts";
import {
  ATTEMPT_TIMEOUT_MS,
  abandoningAttempt,
  committingAttempt,
  expiring,
  failing,
  finishing,
  guardHolds,
  leavingUnconfirmed,
  markingApproved,
  markingApprovedAndSealed,
  rejecting,
  renewing,
  resuming,
  type Step,
  sealing,
} from "./two-factor-state.ts";

describe("the states of a request", () => {
  it("are left only where the table says so", () => {
    const final = TWO_FACTOR_STATUSES.filter((status) => TRANSITIONS[status].length === 0);
    expect(final).toEqual(["rejected", "expired", "finished", "failed"]);
  });

  it("are changed by steps of the table only, each change with an event", () => {
    const now = new Date();
    const seen = { messageId: "a" } as Parameters<typeof renewing>[0];
    const result = { id: "", refUrl: "" };
    const steps: Step[] = [
      renewing(seen, { messageId: "b", message: new Uint8Array() }, now),
      rejecting(now, "ES256 00", false),
      expiring(now),
      committingAttempt(seen, { attemptId: "c", approverId: "d" }, now),
      abandoningAttempt("c"),
      leavingUnconfirmed("c", now),
      markingApproved("c", result, now),
      markingApprovedAndSealed({ approverId: "d", result, keyIndex: 2 }, now),
      sealing("c", result, 2, now),
      failing("c"),
      finishing,
    ];
    const reached = new Set<string>();
    for (const { when, set, emit } of steps) {
      if (set.status === undefined) continue;
      expect(TRANSITIONS[when.status]).toContain(set.status);
      expect(emit).toBe(set.status);
      reached.add(`${when.status} ${set.status}`);
    }
    const table = TWO_FACTOR_STATUSES.flatMap((from) => TRANSITIONS[from].map((to) => `${from} ${to}`));
    expect([...reached].sort()).toEqual(table.sort());
  });

  it("are resumed while an outcome is unknown, and not while a submission may be under way", () => {
    const attemptStartedAt = new Date();
    const late = new Date(attemptStartedAt.getTime() + ATTEMPT_TIMEOUT_MS);
    const row = { status: "pending", attemptId: "c", attemptStartedAt, sealedAt: null } as TwoFactor;
    expect(resuming(row, late)).toMatchObject({ when: { attemptId: "c" }, set: { reconcileAt: late } });
    expect(resuming({ ...row, status: "approved" }, late)).toBeDefined();
    expect(resuming(row, new Date(late.getTime() - 1))).toBeUndefined();
    expect(resuming({ ...row, attemptId: null }, late)).toBeUndefined();
    expect(resuming({ ...row, status: "approved", sealedAt: late }, late)).toBeUndefined();
    for (const status of ["rejected", "expired", "finished", "failed"] as const)
      expect(resuming({ ...row, status }, late)).toBeUndefined();
  });

  it("are decided while there is time left only", () => {
    const now = new Date();
    const row = { status: "pending", attemptId: null, expiresAt: now } as TwoFactor;
    const { when } = rejecting(now, "ES256 00", false);
    expect(guardHolds(row, when)).toBe(false);
    expect(guardHolds({ ...row, expiresAt: new Date(now.getTime() + 1) }, when)).toBe(true);
    expect(guardHolds(row, expiring(now).when)).toBe(true);
  });

  it("keep to the table under random sequences of all commands", async () => {
    const stores = () => ({ requests: memoryTwoFactorStore(), devices: memoryDeviceStore() });
    await playTwoFactor(stores, { numRuns: 150, maxCommands: 60 });
  }, 60_000);
});
