import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CadenceValue, cadenceArray, cadenceString, encodeCadence, readCadence } from "./cadence-json.ts";

const values: fc.Arbitrary<CadenceValue> = fc.letrec<{ value: CadenceValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.string({ unit: "grapheme" }).map(cadenceString),
    fc.array(tie("value"), { maxLength: 4 }).map(cadenceArray),
    fc.option(tie("value")).map((value) => ({ type: "Optional", value })),
    fc
      .array(fc.record({ value: tie("value"), key: tie("value") }), { maxLength: 2 })
      .map((value) => ({ type: "Dictionary", value })),
  ),
})).value;

function plain({ type, value }: CadenceValue): unknown {
  if (type === "Optional") return value === null ? null : plain(value as CadenceValue);
  if (!Array.isArray(value)) return value;
  return value.map((entry) => (type === "Dictionary" ? [plain(entry.key), plain(entry.value)] : plain(entry)));
}

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

  it.each<[unknown, string]>([
    ["hello", 'an argument is "hello": give { type: "String", value: "hello" }, for example'],
    [undefined, "an argument is undefined"],
    [7n, "an argument is 7n: give"],
    [{ type: "UInt64", value: 7 }, 'a UInt64 is a number: give it as text, { type: "UInt64", value: "7" }'],
    [{ type: "Array", value: [{ type: "Int", value: 7n }] }, 'give it as text, { type: "Int", value: "7" }'],
    [{ type: "Optional", value: { type: "Int8", value: 7 } }, 'give it as text, { type: "Int8", value: "7" }'],
  ])("does not write %o, which the chain refuses", (value, message) => {
    expect(() => encodeCadence(value as CadenceValue)).toThrow(message);
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
