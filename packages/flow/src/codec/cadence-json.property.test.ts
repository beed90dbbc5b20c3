import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CadenceValue, cadenceArray, cadenceString, encodeCadence, readCadence } from "./cadence-json.ts";

const values: fc.Arbitrary<CadenceValue> = fc.letrec<{ value: CadenceValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.string({ unit: "grapheme" }).map(cadenceString),
    fc.array(tie("value"), { maxLength: 4 }).map(cadenceArray),
  ),
})).value;

const plain = (value: CadenceValue): unknown =>
  Array.isArray(value.value) ? value.value.map((entry) => plain(entry as CadenceValue)) : value.value;

/** JSON that a dishonest access node could send: the names that readCadence reads, with any values. */
const hostile = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    fc.jsonValue({ maxDepth: 2 }),
    fc.record({
      type: fc.oneof(
        fc.constantFrom("Optional", "Array", "Dictionary", "Event", "Struct", "Enum", "Resource", "Contract", "String"),
        fc.jsonValue({ maxDepth: 1 }),
      ),
      value: fc.oneof(
        tie("value"),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.record({ fields: fc.array(fc.record({ name: fc.string(), value: tie("value") }), { maxLength: 3 }) }),
        fc.array(fc.record({ key: tie("value"), value: tie("value") }), { maxLength: 3 }),
      ),
    }),
  ),
})).value;

describe("JSON-Cadence", () => {
  it("reads back what it wrote, and writes it one way", () => {
    fc.assert(
      fc.property(values, (value) => {
        const text = encodeCadence(value);
        expect(readCadence(JSON.parse(text))).toEqual(plain(value));
        expect(encodeCadence(JSON.parse(text))).toBe(text);
      }),
    );
  });

  it("answers other shapes by TypeError and nothing else", () => {
    fc.assert(
      fc.property(hostile, (value) => {
        try {
          readCadence(JSON.parse(JSON.stringify(value)));
        } catch (error) {
          expect(error).toBeInstanceOf(TypeError);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it("refuses values that nest without end", () => {
    let value: CadenceValue = cadenceString("");
    for (let depth = 0; depth < 100_000; depth++)
      value = { type: depth % 2 ? "Optional" : "Array", value: depth % 2 ? value : [value] };
    expect(() => readCadence(value)).toThrow(TypeError);
  });
});
