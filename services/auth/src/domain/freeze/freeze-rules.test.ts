import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FreezeModel } from "../../testing/freeze-model.ts";
import {
  decideFreeze,
  decideUnfreeze,
  type FreezeFacts,
  mayRemove,
  type Party,
  RECOVERY_KEY as RECOVERY,
} from "./freeze-rules.ts";

const TIME_LOCKS = { deviceMs: 1000, recoveryMs: 5000 };
const at = (ms: number) => new Date(ms);
const unfreeze = (facts: FreezeFacts, by: Party, ms: number) =>
  decideUnfreeze(facts, by, { now: at(ms), id: "id", timeLocks: TIME_LOCKS });
const frozen = (change: Partial<FreezeFacts["freeze"]> = {}): FreezeFacts => ({
  freeze: { frozenAt: at(0), frozenBy: "first", joinedBy: [], requests: [], removed: [], ...change },
  held: false,
  left: false,
  recoveryLifts: undefined,
  memberSince: at(-1),
});
const asked = (party: Party, ms: number) => ({
  id: `of ${party}`,
  party,
  askedAt: at(ms),
  availableAt: at(ms + 1000),
  lapsesAt: at(ms + 86_401_000),
});

describe("lifting a freeze", () => {
  it("takes its time lock for every party that asks alone, also for the one that froze", () => {
    for (const by of ["first", "second"]) {
      expect(unfreeze(frozen(), by, 10)).toMatchObject({ type: "ask", request: { party: by, availableAt: at(1010) } });
      const waiting = frozen({ requests: [asked(by, 10)] });
      expect(unfreeze(waiting, by, 1009)).toMatchObject({ type: "wait", request: { availableAt: at(1010) } });
      expect(unfreeze(waiting, by, 1010)).toEqual({ type: "lift" });
      expect(unfreeze(waiting, by, 86_401_010)).toMatchObject({ type: "ask" });
    }
  });

  it("takes the time lock of another party's request for nobody else's", () => {
    expect(unfreeze(frozen({ requests: [asked("second", 0)] }), "third", 5000)).toMatchObject({ type: "ask" });
  });

  it("happens at once where two parties agree, one of which froze or is the recovery key", () => {
    const cases: [asks: Party, by: Party, type: string][] = [
      ["first", "second", "lift"],
      ["second", "first", "lift"],
      [RECOVERY, "second", "lift"],
      ["second", RECOVERY, "lift"],
      [RECOVERY, "first", "lift"],
      ["second", "third", "ask"],
    ];
    for (const [asks, by, type] of cases)
      expect(unfreeze(frozen({ requests: [asked(asks, 0)] }), by, 1), `${asks}, then ${by}`).toMatchObject({ type });
  });

  it("needs everybody who froze to agree: where a device of those was removed, nobody but the recovery key is quick", () => {
    const joined = { joinedBy: ["second"], requests: [asked("first", 0)] };
    expect(unfreeze(frozen(joined), "third", 1)).toMatchObject({ type: "ask" });
    expect(unfreeze(frozen(joined), "second", 1)).toEqual({ type: "lift" });
    expect(unfreeze(frozen({ ...joined, removed: ["first"] }), "second", 1)).toMatchObject({ type: "ask" });
    const gone = { requests: [asked("third", 0)], removed: ["first"] };
    expect(unfreeze(frozen(gone), "second", 1)).toMatchObject({ type: "ask" });
    expect(unfreeze(frozen(gone), RECOVERY, 1)).toMatchObject({ type: "lift" });
    expect(unfreeze(frozen({ requests: [asked("third", 0)], removed: ["third"] }), RECOVERY, 1)).toMatchObject({
      type: "ask",
    });
  });

  it("is possible for the recovery key alone when the freeze has lasted for its time lock, also after cancelled requests", () => {
    expect(unfreeze(frozen(), RECOVERY, 4999)).toMatchObject({ type: "ask", request: { availableAt: at(5000) } });
    const recoveryLifts = { since: at(5000), lastAt: at(5000) };
    expect(unfreeze(frozen(), RECOVERY, 5000)).toEqual({ type: "lift", recoveryLifts });
  });

  it("by the recovery key alone goes on with its lifts of less than a week ago, and begins again after a week", () => {
    const WEEK = 7 * 24 * 3_600_000;
    const lastAt = at(5000);
    const since = at(4000);
    const lift = (ms: number) => unfreeze({ ...frozen(), recoveryLifts: { since, lastAt } }, RECOVERY, 5000 + ms);
    const [before, after] = [at(5000 + WEEK - 1), at(5000 + WEEK)];
    expect(lift(WEEK - 1)).toEqual({ type: "lift", recoveryLifts: { since, lastAt: before } });
    expect(lift(WEEK)).toEqual({ type: "lift", recoveryLifts: { since: after, lastAt: after } });
  });

  it("is refused to devices that came later or were removed, to everybody while an operator has to look, and after leaving", () => {
    const refused = { type: "refuse", reason: "UnfreezeNotAllowed" };
    for (const memberSince of [at(0), at(1), undefined])
      expect(unfreeze({ ...frozen(), memberSince }, "second", 9000)).toEqual(refused);
    expect(unfreeze({ ...frozen(), memberSince: undefined }, "first", 9000)).toEqual(refused);
    expect(unfreeze({ ...frozen(), memberSince: at(0) }, "first", 9000)).toMatchObject({ type: "ask" });
    expect(unfreeze({ ...frozen(), left: true }, RECOVERY, 9000)).toEqual(refused);
    const held = { type: "refuse", reason: "AccountUnderReview" };
    expect(unfreeze({ ...frozen(), held: true }, RECOVERY, 9000)).toEqual(held);
    expect(unfreeze({ ...frozen(), freeze: undefined, held: true }, "first", 0)).toEqual(held);
  });
});

describe("removing a device of a frozen account", () => {
  const removing = (device: Party, ms: number, change: Parameters<typeof frozen>[0] = {}) =>
    mayRemove(frozen(change).freeze, { by: "second", device, now: at(ms), timeLocks: TIME_LOCKS });

  it("is refused for the device that froze only, until a device could lift the freeze", () => {
    expect([removing("first", 999), removing("first", 1000)]).toEqual([false, true]);
    expect(removing("third", 0)).toBe(true);
    expect(removing("third", 0, { joinedBy: ["third"] })).toBe(true);
  });

  it("is not refused for a device that froze while it was young: before that ends, it may remove the older ones", () => {
    const DAY = 86_400_000;
    const removed = (joined: number, deviceMs: number) => {
      const { freeze } = frozen({ frozenBySince: at(joined) });
      return mayRemove(freeze, { by: "second", device: "first", now: at(1), timeLocks: { deviceMs } });
    };
    expect([removed(-1, DAY), removed(1 - DAY, DAY)]).toEqual([true, true]);
    expect([removed(-DAY, DAY), removed(-1, DAY - 2)]).toEqual([false, false]);
  });

  it("may be repeated, and no device is kept from removing itself", () => {
    expect(removing("first", 0, { removed: ["first"] })).toBe(true);
    expect(removing("second", 0, { frozenBy: "second" })).toBe(true);
    expect(mayRemove(undefined, { by: "second", device: "first", now: at(0), timeLocks: TIME_LOCKS })).toBe(true);
  });
});

it("a freeze is set by the recovery key and every device of the account, not by one that was removed", () => {
  const facts = { ...frozen(), freeze: undefined };
  expect(decideFreeze(facts, "young", at(1))).toEqual({ type: "freeze" });
  expect(decideFreeze({ ...facts, memberSince: undefined }, RECOVERY, at(1))).toEqual({ type: "freeze" });
  expect(decideFreeze({ ...facts, memberSince: undefined }, "removed", at(1))).toEqual({ type: "nothing" });
});

describe("freezing a frozen account", () => {
  const requests = [asked("second", 0), asked(RECOVERY, 0)];

  it("joins the freeze and cancels what was asked for; again it changes nothing", () => {
    expect(decideFreeze(frozen({ requests }), "third", at(1))).toEqual({ type: "join", cancels: requests });
    expect(decideFreeze(frozen({ joinedBy: ["third"] }), "third", at(1))).toEqual({ type: "nothing" });
    expect(decideFreeze(frozen(), "first", at(1))).toEqual({ type: "nothing" });
  });

  it("takes back only its own request where the recovery key does it, and does nothing where a younger device does", () => {
    expect(decideFreeze(frozen({ requests }), RECOVERY, at(1))).toEqual({ type: "join", cancels: [requests[1]] });
    expect(decideFreeze({ ...frozen({ requests }), memberSince: at(0) }, "young", at(1))).toEqual({ type: "nothing" });
  });
});

describe("a stolen phone that freezes again after each lift by the recovery key", () => {
  const DAY = 24;
  const lifted = (model: FreezeModel) => {
    model.advance(DAY);
    expect(model.unfreezeBy(RECOVERY)).toMatchObject({ type: "lift" });
  };

  it("is stopped after a month, for the two days that enrolling a device takes", () => {
    const model = new FreezeModel(["stolen"]);
    let days = 0;
    while (model.freezeBy("stolen").type === "freeze") {
      lifted(model);
      days += 1;
      expect(days).toBeLessThan(40);
    }
    expect(days).toBe(31);
    model.advance(2 * DAY - 1);
    expect(model.freezeBy("stolen")).toEqual({ type: "refuse", reason: "TimeLockContested" });
    expect(model.freezeBy(RECOVERY)).toEqual({ type: "freeze" });
    lifted(model);
    model.advance(2 * DAY);
    expect(model.freezeBy("stolen")).toEqual({ type: "freeze" });
  });

  it.each([
    ["stolen", RECOVERY],
    [RECOVERY, "stolen"],
  ])("is stopped also where it agrees to each lift, so that nobody lifts one alone (%s first)", (...parties) => {
    const model = new FreezeModel(["stolen"]);
    let days = 0;
    while (model.freezeBy("stolen").type === "freeze") {
      for (const party of parties) model.unfreezeBy(party);
      expect(model.freeze).toBeUndefined();
      model.advance(DAY);
      days += 1;
      expect(days).toBeLessThan(40);
    }
    expect(days).toBe(31);
  });

  it("begins its month again where a week was quiet", () => {
    const model = new FreezeModel(["stolen"]);
    for (let days = 0; days < 29; days++) {
      model.freezeBy("stolen");
      lifted(model);
    }
    model.advance(7 * DAY);
    for (let days = 0; days < 29; days++) {
      expect(model.freezeBy("stolen")).toEqual({ type: "freeze" });
      lifted(model);
    }
  });
});

/**
 * Two devices of the owner; one that was stolen, and one that the thief had enrolled with it; one enrolled
 * during the freeze.
 */
const OWNERS = ["owner-1", "owner-2"];
const THIEFS = ["stolen", "thief-2"];
const YOUNG = "young";

type Move = (model: FreezeModel) => void;
const named = (name: string, move: Move): Move => Object.assign(move, { toString: () => name });
const pass = fc.integer({ min: 0, max: 40 }).map((hours) => named(`${hours} h`, (model) => model.advance(hours)));
const oneOf = (parties: readonly Party[]) => fc.constantFrom(...parties);
const freezing = (by: readonly Party[]) => oneOf(by).map((p) => named(`${p} freezes`, (model) => model.freezeBy(p)));
const unfreezing = (by: readonly Party[]) =>
  oneOf(by).map((p) => named(`${p} unfreezes`, (model) => model.unfreezeBy(p)));
const removing = (by: readonly Party[], whom: readonly Party[]) =>
  fc
    .tuple(oneOf(by), oneOf(whom))
    .map(([p, other]) => named(`${p} removes ${other}`, (model) => model.remove(p, other)));
const start = () => {
  const model = new FreezeModel([...OWNERS, ...THIEFS]);
  model.advance(1);
  return model;
};
const RUNS = { numRuns: 2000 };

describe("a thief with a stolen phone, and one more that it enrolled before", () => {
  const all = [...THIEFS, YOUNG];
  const thief = fc.oneof(freezing(all), unfreezing(all), removing(all, [...OWNERS, ...THIEFS]), pass);
  const owner = fc.oneof(freezing(OWNERS), removing(OWNERS, THIEFS));

  it("lifts no freeze sooner than its time lock after the owner has last frozen, in any interleaving", () => {
    const property = fc.property(fc.array(fc.oneof(thief, thief, owner), { maxLength: 40 }), (moves) => {
      const model = start();
      model.freezeBy("owner-1");
      model.enroll(YOUNG);
      let pressedAt: Date | undefined = model.now;
      for (const move of moves) {
        const before = model.freeze;
        move(model);
        const byOwner = OWNERS.find((device) => String(move) === `${device} freezes` && model.has(device));
        if (byOwner) pressedAt = model.now;
        if (!before || model.freeze || !pressedAt) continue;
        expect(model.now.getTime() - pressedAt.getTime()).toBeGreaterThanOrEqual(24 * 3_600_000);
        pressedAt = undefined;
      }
    });
    fc.assert(property, RUNS);
  });

  it("does so neither where the thief froze first and the owner joined", () => {
    const property = fc.property(fc.array(thief, { maxLength: 30 }), (moves) => {
      const model = start();
      model.freezeBy("stolen");
      model.freezeBy("owner-1");
      for (const move of moves) {
        move(model);
        if (!model.freeze) expect(model.now.getTime()).toBeGreaterThanOrEqual(25 * 3_600_000);
        if (!model.freeze) return;
      }
    });
    fc.assert(property, RUNS);
  });

  it("never removes the device that froze before a day has passed", () => {
    const property = fc.property(fc.array(thief, { maxLength: 30 }), (moves) => {
      const model = start();
      model.freezeBy("owner-1");
      for (const move of moves) {
        move(model);
        if (model.now.getTime() < 25 * 3_600_000) expect(model.has("owner-1")).toBe(true);
      }
    });
    fc.assert(property, RUNS);
  });
});

describe("the owner", () => {
  const everybody = [...OWNERS, ...THIEFS, YOUNG, RECOVERY];
  const devices = [...OWNERS, ...THIEFS, YOUNG];
  const anything = fc.oneof(
    freezing(everybody),
    unfreezing(everybody),
    removing(devices, [...OWNERS, ...THIEFS]),
    pass,
  );
  const history = fc.array(anything, { maxLength: 30 });
  const answers = fc.array(fc.oneof(freezing(THIEFS), unfreezing(THIEFS)), { maxLength: 5 });

  it("gets an account back with any device that is left: freezes twice, removes the thief's after a day, and lifts the freeze after another", () => {
    const property = fc.property(history, answers, answers, answers, (moves, ...meanwhile) => {
      const model = start();
      for (const move of moves) move(model);
      const left = OWNERS.find((device) => model.has(device));
      if (!left) return;
      for (const each of meanwhile) {
        model.freezeBy(left);
        for (const move of each) move(model);
        if (each !== meanwhile.at(-1)) model.advance(12);
      }
      for (const device of [...THIEFS, YOUNG]) expect(model.remove(left, device)).toBe(true);
      model.unfreezeBy(left);
      model.advance(24);
      model.unfreezeBy(left);
      expect(model.freeze).toBeUndefined();
    });
    fc.assert(property, RUNS);
  });

  it("lifts a freeze with the recovery key a day after it was set, also if devices freeze or cancel meanwhile", () => {
    const property = fc.property(history, answers, (moves, meanwhile) => {
      const model = start();
      for (const move of moves) move(model);
      if (!model.freeze) return;
      const { frozenAt } = model.freeze;
      model.unfreezeBy(RECOVERY);
      model.advance(24);
      for (const move of meanwhile) move(model);
      model.unfreezeBy(RECOVERY);
      expect(model.freeze === undefined || model.freeze.frozenAt > frozenAt).toBe(true);
    });
    fc.assert(property, RUNS);
  });
});
