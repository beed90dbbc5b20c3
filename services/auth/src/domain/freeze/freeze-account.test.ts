import type { VerifiedToken } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { generateKeyPair } from "@countersign/keys/node";
import { beforeEach, describe, expect, it } from "vitest";
import { type FreezeCommand, freezeAccount, unfreezeAccount } from "./freeze-account.ts";
import { deviceParty, type FreezeDecision, type FreezeFacts, RECOVERY_KEY } from "./freeze-rules.ts";

const key = generateKeyPair().publicKey;
const party = deviceParty(key);
const timeLocks = { deviceMs: 60_000, recoveryMs: 300_000 };
const tokenOf = (scope: "full" | "recover") =>
  ({ accountId: "account", sessionId: "session", deviceKey: key, scope }) as VerifiedToken;

let clock: FixedClock;
let facts: FreezeFacts;
let commands: FreezeCommand[];
/** The decisions that the store wrote. */
let written: FreezeDecision[];
const freezes = {
  async change(command: FreezeCommand, decide: (of: FreezeFacts) => FreezeDecision) {
    commands.push(command);
    const decision = decide(facts);
    written.push(decision);
    return decision;
  },
};
const freeze = (scope: "full" | "recover" = "full") => freezeAccount({ freezes, clock })(tokenOf(scope), "request");
const unfreeze = (scope: "full" | "recover" = "full") =>
  unfreezeAccount({ freezes, clock, timeLocks })(tokenOf(scope), "request");
const frozenBy = (by: string) => ({ frozenAt: clock.now(), frozenBy: by, joinedBy: [], requests: [], removed: [] });

beforeEach(() => {
  clock = new FixedClock("2026-11-21T10:00:00Z");
  const memberSince = new Date(clock.now().getTime() - 1);
  facts = { freeze: undefined, held: false, left: false, recoveryLifts: undefined, memberSince };
  [commands, written] = [[], []];
});

describe("freezeAccount", () => {
  it("freezes the token's account, as the device of the session or as the recovery key", async () => {
    await freeze();
    await freeze("recover");
    const common = { accountId: "account", key, now: clock.now(), requestId: "request" };
    expect(commands).toEqual([
      { ...common, by: party },
      { ...common, by: RECOVERY_KEY },
    ]);
    expect(written).toEqual([{ type: "freeze" }, { type: "freeze" }]);
  });

  it("is refused to a device after the recovery key's month of lifts, and says until when", async () => {
    const lastAt = clock.now();
    facts = { ...facts, recoveryLifts: { since: new Date(lastAt.getTime() - 31 * 86_400_000), lastAt } };
    await expect(freeze()).rejects.toMatchObject({
      reason: "TimeLockContested",
      detail: expect.stringContaining("two days"),
    });
    await freeze("recover");
  });
});

describe("unfreezeAccount", () => {
  it("starts the time lock of the device that asks, and says when it ends", async () => {
    facts = { ...facts, freeze: frozenBy(party) };
    clock.advance(500);
    await expect(unfreeze()).rejects.toMatchObject({
      reason: "TimeLockRequired",
      retryAfterSeconds: 60,
      metadata: { availableAt: "2026-11-21T10:01:00.500Z" },
    });
    expect(written).toMatchObject([{ type: "ask", request: { party } }]);
  });

  it("asked again during the time lock repeats the same time, rounded up to whole seconds", async () => {
    const askedAt = clock.now();
    const availableAt = new Date(askedAt.getTime() + 60_000);
    const request = { id: "id", party, askedAt, availableAt, lapsesAt: new Date(availableAt.getTime() + 1) };
    facts = { ...facts, freeze: { ...frozenBy(party), requests: [request] } };
    clock.advance(58_999);
    const metadata = { availableAt: availableAt.toISOString() };
    await expect(unfreeze()).rejects.toMatchObject({ reason: "TimeLockRequired", retryAfterSeconds: 2, metadata });
    expect(written).toMatchObject([{ type: "wait" }]);
    clock.advance(1001);
    await unfreeze();
    expect(written[1]).toEqual({ type: "lift" });
  });

  it("counts the recovery key's time lock from the freeze", async () => {
    facts = { ...facts, freeze: frozenBy(party) };
    clock.advance(100_000);
    await expect(unfreeze("recover")).rejects.toMatchObject({ reason: "TimeLockRequired", retryAfterSeconds: 200 });
    clock.advance(200_000);
    await unfreeze("recover");
    expect(written[1]).toMatchObject({ type: "lift" });
  });

  it("changes nothing where nothing is frozen, and is refused where an operator or a younger device is in the way", async () => {
    await unfreeze();
    expect(written).toEqual([{ type: "nothing" }]);
    facts = { ...facts, held: true };
    await expect(unfreeze()).rejects.toMatchObject({ reason: "AccountUnderReview" });
    facts = { ...facts, held: false, freeze: frozenBy("another"), memberSince: clock.now() };
    await expect(unfreeze()).rejects.toMatchObject({ reason: "UnfreezeNotAllowed" });
  });
});
