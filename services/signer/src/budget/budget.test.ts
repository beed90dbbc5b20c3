import { describe, expect, it } from "vitest";
import { type Amounts, estimateFees, mergeReservations, type Reservation, readWindowId, windowsAt } from "./budget.ts";
import { type BudgetState, findOverBudget, type Reserved, usageId } from "./over-budget.ts";

const now = new Date("2026-11-21T10:00:59Z");
const rule = { windowSeconds: 60, count: 2, computation: undefined, fees: 100 };
const reservation = (change: Partial<Reservation> = {}): Reservation => ({
  chainName: "c",
  proposal: "aa/1/7",
  referenceBlock: "block 1",
  amounts: { count: 1, computation: 50, fees: 60 },
  windows: windowsAt("account", "a", [rule], now),
  ...change,
});
const window = reservation().windows[0]!;
const reserved = (change: Partial<Reserved> = {}): Reserved => ({
  amounts: reservation().amounts,
  referenceBlock: "block 1",
  windowIds: new Set([window.id]),
  settled: false,
  ...change,
});
const state = (used: Partial<Amounts> = {}, known?: Reserved): BudgetState => ({
  reserved: new Map(known && [["c aa/1/7", known]]),
  used: new Map([[usageId("c", window.id), { count: 0, computation: 0, fees: 0, ...used }]]),
});

describe("windows", () => {
  it("follow each other without a gap, and an end is the next one's beginning", () => {
    const [next] = windowsAt("account", "a", [rule], window.endsAt);
    expect(window.endsAt).toEqual(new Date("2026-11-21T10:01:00Z"));
    expect(next!.endsAt).toEqual(new Date("2026-11-21T10:02:00Z"));
    expect(next!.id).not.toBe(window.id);
    expect(windowsAt("account", "a", [rule], new Date("2026-11-21T10:00:00Z"))).toEqual([window]);
  });

  it("contain the time, and are the same at every time of one window, by every rule", () => {
    const hourly = { ...rule, windowSeconds: 3600 };
    const policies = [[rule], [hourly, rule], []];
    const ends = new Map<string, number>();
    // There and back over ends of windows, by rules that change, about several people.
    for (let step = 0; step < 2_000; step++) {
      const at = now.getTime() + ((step * 7_919) % 7_200) * 1_000;
      const rules = policies[Math.floor(step / 7) % 3]!;
      for (const whose of ["a", "b", "c"].slice(step % 3)) {
        const windows = windowsAt("account", whose, rules, new Date(at));
        expect(windows).toHaveLength(rules.length);
        for (const [i, { id, endsAt }] of windows.entries()) {
          const beginsAt = endsAt.getTime() - rules[i]!.windowSeconds * 1_000;
          expect(beginsAt <= at && at < endsAt.getTime()).toBe(true);
          expect(ends.get(id) ?? endsAt.getTime()).toBe(endsAt.getTime());
          ends.set(id, endsAt.getTime());
        }
      }
    }
    expect(windowsAt("account", "a", [rule], now)).not.toEqual(windowsAt("app", "a", [rule], now));
  });

  it("name their budget, also with slashes in its name", () => {
    const [odd] = windowsAt("app", "a/b", [rule], now);
    expect(readWindowId(odd!.id)).toEqual({ scope: "app", whose: "a/b", windowSeconds: 60 });
  });
});

describe("findOverBudget", () => {
  const refused = (requested: Reservation[], given: BudgetState) => [...findOverBudget(requested, given).keys()];

  it("lets what fits, up to the last unit", () => {
    expect(refused([reservation()], state({ fees: 40, count: 1 }))).toEqual([]);
    expect(refused([reservation()], state({ fees: 41 }))).toEqual(["c aa/1/7"]);
    expect(refused([reservation()], state({ count: 2 }))).toEqual(["c aa/1/7"]);
    expect(refused([reservation()], state({ computation: 1e9 }))).toEqual([]);
  });

  it("looks at each by what those before it have left", () => {
    const big = reservation({ proposal: "aa/1/8", amounts: { count: 1, computation: 1, fees: 80 } });
    const small = reservation({ proposal: "aa/1/9", amounts: { count: 1, computation: 1, fees: 40 } });
    expect(refused([reservation(), big, small], state())).toEqual(["c aa/1/8"]);
  });

  it("the same transaction again takes nothing, also from a full budget; one that grows takes the rest", () => {
    const full = { count: 9, fees: 900 };
    expect(refused([reservation()], state(full, reserved()))).toEqual([]);
    const authorized = reserved({ amounts: { count: 1, computation: 0, fees: 0 } });
    expect(refused([reservation()], state({ count: 2, fees: 40 }, authorized))).toEqual([]);
    expect(refused([reservation()], state({ count: 2, fees: 41 }, authorized))).toEqual(["c aa/1/7"]);
  });

  it("another reference block counts in full in a window that does not hold it yet", () => {
    const again = reservation({ referenceBlock: "block 2" });
    expect(refused([again], state({ count: 9, fees: 900 }, reserved()))).toEqual([]);
    const earlier = reserved({ windowIds: new Set(["account/a/60/1"]) });
    expect(refused([again], state({ fees: 40 }, earlier))).toEqual([]);
    expect(refused([again], state({ fees: 41 }, earlier))).toEqual(["c aa/1/7"]);
  });

  it("an executed transaction, signed again with another block or a larger amount, is a new one; a retry is none", () => {
    const executed = reserved({ settled: true });
    const full = state({ count: 2, fees: 100 }, executed);
    expect(refused([reservation()], full)).toEqual([]);
    expect(refused([reservation({ amounts: { count: 1, computation: 0, fees: 0 } })], full)).toEqual([]);
    expect(refused([reservation({ referenceBlock: "block 2" })], full)).toEqual(["c aa/1/7"]);
    expect(refused([reservation({ amounts: { count: 2, computation: 50, fees: 60 } })], full)).toEqual(["c aa/1/7"]);
    // In full, also in a window that holds what was executed; no less, and no more than is asked for.
    const grown = reservation({ amounts: { count: 1, computation: 51, fees: 61 } });
    expect(refused([grown], state({ count: 1, fees: 40 }, executed))).toEqual(["c aa/1/7"]);
    expect(refused([grown], state({ count: 1, fees: 39 }, executed))).toEqual([]);
    const cheap = reservation({ referenceBlock: "block 2", amounts: { count: 1, computation: 1, fees: 1 } });
    expect(refused([cheap], state({ count: 1, fees: 99 }, executed))).toEqual([]);
  });
});

it("signatures of one transaction are one reservation, with the most of each", () => {
  const other = windowsAt("backend", "shop", [rule], now);
  const merged = mergeReservations([
    reservation({ amounts: { count: 1, computation: 0, fees: 0 }, windows: [...reservation().windows, ...other] }),
    reservation(),
    reservation({ chainName: "d" }),
  ]);
  expect(merged).toEqual([
    { ...reservation(), windows: [...reservation().windows, ...other] },
    reservation({ chainName: "d" }),
  ]);
});

it("a retry in the same batch hides no other reference block", () => {
  const state = reserved({ settled: true });
  for (const batch of [
    [reservation({ referenceBlock: "block 2" }), reservation()],
    [reservation(), reservation({ referenceBlock: "block 2" }), reservation()],
  ]) {
    const [merged] = mergeReservations(batch);
    expect(merged!.referenceBlock).not.toBe(state.referenceBlock);
  }
  expect(mergeReservations([reservation(), reservation()])).toEqual([reservation()]);
});

it("fees are estimated by the gas limit", () => {
  expect(estimateFees(9999, { inclusion: 10_000, computation: 4_000 })).toBe(40_006_000);
});
