import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InFlight } from "./in-flight.ts";

const entry = (name: string) => ({ id: 0, name });

describe("entries in flight", () => {
  it("are found by their number, once", () => {
    const flight = new InFlight<{ id: number; name: string }>();
    const id = flight.add(entry("a"));
    expect(flight.take(id)).toMatchObject({ id, name: "a" });
    expect(flight.take(id)).toBeUndefined();
  });

  it("are never confused: a late answer finds no entry, since no number is used again", () => {
    const flight = new InFlight<{ id: number; name: string }>();
    const late = flight.add(entry("late"));
    flight.take(late);
    const ids = Array.from({ length: 1_000 }, (_, i) => flight.add(entry(String(i))));
    expect(flight.take(late)).toBeUndefined();
    expect(new Set([...ids, late]).size).toBe(1_001);
  });

  it.each([0, -1, 0.5, Number.NaN, 2 ** 32 + 1, undefined as never])("have none with the number %s", (id) => {
    const flight = new InFlight<{ id: number; name: string }>();
    flight.add(entry("one"));
    expect(flight.take(id)).toBeUndefined();
    expect(flight.all()).toHaveLength(1);
    // Taking an unknown number removes no entry.
    for (let i = 0; i < 300; i++) flight.take(id);
    for (let i = 0; i < 600; i++) flight.add(entry(String(i)));
    expect(flight.all()).toHaveLength(601);
  });

  it("match a Map, in its order, for any sequence of add and take", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constant("add" as const), fc.nat(2_000)), { maxLength: 3_000 }), (steps) => {
        const flight = new InFlight<{ id: number; name: string }>();
        const model = new Map<number, string>();
        for (const [i, step] of steps.entries()) {
          if (step === "add") {
            const id = flight.add(entry(String(i)));
            expect(model.has(id)).toBe(false);
            model.set(id, String(i));
          } else {
            expect(flight.take(step)?.name).toBe(model.get(step));
            model.delete(step);
          }
        }
        expect(flight.all().map(({ id, name }) => [id, name])).toEqual([...model]);
      }),
    );
  });
});
