import { describe, expect, it } from "vitest";
import {
  type AccountState,
  type Actor,
  explore,
  RULES,
  type Rules,
  recoverable,
  signedUp,
  signsIn,
} from "./account-model.ts";

const MODEL_DEVICES = 3;
const start = signedUp(MODEL_DEVICES);

/** Ways to states from which no transaction is ever signed again, the shortest first. */
function deadEnds(rules: Rules): string[] {
  const reached = explore(start, rules);
  const alive = recoverable(
    reached.map(({ state }) => state),
    rules,
  );
  return reached.flatMap(({ state, way }) => (alive.has(state) ? [] : [way.join(", ")]));
}

/** Ways to states in which this one signs in, and gets no transaction signed by itself. */
function helpless(actor: Actor): string[] {
  const reached = explore(start);
  const alive = recoverable(
    reached.map(({ state }) => state),
    RULES,
    [actor],
  );
  const stuck = reached.filter(({ state }) => signsIn(state, actor) && !alive.has(state));
  return stuck.map(({ way }) => way.join(", "));
}

describe("every state that an account can come to", () => {
  it("is one of many, with frozen ones, closed ones and those of a recovery key alone", () => {
    const states = explore(start).map(({ state }) => state);
    expect(states.length).toBeGreaterThan(200);
    expect(states.some(({ frozenBy, closed }) => frozenBy !== undefined && closed)).toBe(true);
    const none = (state: AccountState) => state.devices.every((_, device) => !signsIn(state, device));
    expect(states.some((state) => none(state) && signsIn(state, "recovery"))).toBe(true);
  });

  it("is left again by somebody who gets a transaction signed", () => {
    expect(deadEnds(RULES)).toEqual([]);
  });

  it.each<Actor>([0, 1, 2])("is left by device %s alone, where that signs in", (device) => {
    expect(helpless(device)).toEqual([]);
  });

  it("is left by the recovery key alone, where that signs in: it lifts the freeze and enrolls a device", () => {
    expect(helpless("recovery")).toEqual([]);
  });
});

describe("without the rule that", () => {
  it("keeps the last device, it would be lost by removing it", () => {
    expect(deadEnds({ ...RULES, isLastDevice: () => false })[0]).toBe("0 removes 0");
  });

  it("keeps a session from revoking its own key, it would be lost beside the key of a removed device", () => {
    const ways = deadEnds({ ...RULES, sessionKeepsItsKey: () => undefined });
    expect(ways[0]).toBe("0 enrolls 1, 1 is registered, 0 removes 0, 1 revokes 1");
  });

  it("counts only reported recovery keys on chain, it would be lost by removing the last device too early", () => {
    const believing: Rules["accessOf"] = (registrations) => {
      const real = RULES.accessOf(registrations);
      return real.map((each) => ({ ...each, recoveryKey: registrations.some(({ kind }) => kind === "recovery") }));
    };
    const reached = explore(start, { ...RULES, accessOf: believing });
    const alive = recoverable(
      reached.map(({ state }) => state),
      { ...RULES, accessOf: believing },
    );
    expect(alive.size).toBeGreaterThan(0);
    // It seems to sign in, and does not.
    const lost = reached.find(
      ({ state }) => !state.devices.some((_, device) => signsIn(state, device)) && !signsIn(state, "recovery"),
    );
    expect(lost?.way).toEqual(["0 reports a recovery key", "0 removes 0"]);
  });

  it("lets the device that froze lift its own freeze after a time lock, an account of one device would be lost by freezing it", () => {
    const decideUnfreeze: Rules["decideUnfreeze"] = (facts, by, at) =>
      facts.freeze?.frozenBy === by
        ? { type: "refuse", reason: "UnfreezeNotAllowed" }
        : RULES.decideUnfreeze(facts, by, at);
    expect(deadEnds({ ...RULES, decideUnfreeze })[0]).toBe("0 freezes");
  });
});
