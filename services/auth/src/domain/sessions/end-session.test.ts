import type { VerifiedToken } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { generateKeyPair } from "@countersign/keys/node";
import { expect, it } from "vitest";
import { endOtherSessions, endSession, signOut } from "./end-session.ts";
import type { SessionStore } from "./session.ts";

const clock = new FixedClock("2026-11-21T10:00:00Z");
const deviceKey = generateKeyPair().publicKey;
const token = { accountId: "account", sessionId: "own", scope: "full", deviceKey } as VerifiedToken;

/** Returns the commands over a store that ends `count` sessions each time, and what they asked of it. */
function world(count = 1) {
  const ended: unknown[] = [];
  const end: SessionStore["end"] = async (...args) => {
    ended.push(args);
    return count;
  };
  const options = { sessions: { end } as SessionStore, clock };
  return {
    ended,
    signOut: () => signOut(options)(token, "request"),
    endSession: (id: string) => endSession(options)(token, id, "request"),
    endOtherSessions: () => endOtherSessions(options)(token, "request"),
  };
}

it("signing out ends the token's own session, and may be repeated", async () => {
  const { ended, signOut: leave } = world(0);
  await leave();
  expect(ended).toEqual([["account", { id: "own" }, "signed-out", clock.now(), "request"]]);
});

it("another session is ended in the token's account only; where there is none the error says so", async () => {
  const { ended, endSession: end } = world();
  await end("other");
  expect(ended).toEqual([["account", { id: "other", by: deviceKey }, "ended-by-user", clock.now(), "request"]]);
  await expect(world(0).endSession("other")).rejects.toMatchObject({ reason: "SessionNotFound" });
});

it("ending all other sessions keeps the token's own, and is no error where there is none", async () => {
  const { ended, endOtherSessions: endOthers } = world(0);
  await endOthers();
  expect(ended).toEqual([["account", { allBut: "own", by: deviceKey }, "ended-by-user", clock.now(), "request"]]);
});
