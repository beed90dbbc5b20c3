import fc from "fast-check";
import { expect, it } from "vitest";
import { addedKeys, revokedKeys } from "./key-events.ts";

const index = fc.nat(999_999_999).map(String);
const added = {
  address: fc.constant("0xf8d6e0586b0a20c7"),
  publicKey: fc.record({
    publicKey: fc.array(fc.nat(255).map(String), { minLength: 64, maxLength: 64 }),
    signatureAlgorithm: fc.record({ rawValue: fc.constant("1") }),
  }),
  keyIndex: index,
  weight: fc.constant("1000.00000000"),
  hashAlgorithm: fc.record({ rawValue: fc.constant("3") }),
};

const nested: unknown = JSON.parse(`${"[".repeat(20_000)}${"]".repeat(20_000)}`);

/** Fields as a dishonest access node could send them. */
const hostile = (fields: Record<string, fc.Arbitrary<unknown>>) => {
  const other = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constant({ length: 100_000 }),
    fc.constant("Infinity"),
    fc.constant(nested),
  );
  const list = fc.record({ publicKey: other, signatureAlgorithm: other });
  return fc.record(
    Object.fromEntries(
      Object.entries(fields).map(([name, valid]) => [name, fc.oneof({ weight: 9, arbitrary: valid }, other, list)]),
    ),
  );
};

function keysOf<Key>(read: () => Key[]): Key[] {
  try {
    return read();
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    return [];
  }
}

it("events of another shape than the chain's are refused", () => {
  let read = 0;
  const event = { transactionId: "ab".repeat(32) };
  fc.assert(
    fc.property(hostile(added), hostile({ address: added.address, publicKey: index }), (ofAdded, ofRevoked) => {
      for (const key of keysOf(() => addedKeys([{ ...event, type: "flow.AccountKeyAdded", fields: ofAdded }]))) {
        read += 1;
        expect(key).toMatchObject({
          address: "f8d6e0586b0a20c7",
          hashAlgorithm: 3,
          signatureAlgorithm: 1,
          weight: 1000,
        });
        expect(key.publicKey).toMatch(/^[0-9a-f]{128}$/);
        expect(key.keyIndex).toBeGreaterThanOrEqual(0);
      }
      for (const key of keysOf(() => revokedKeys([{ ...event, type: "flow.AccountKeyRemoved", fields: ofRevoked }])))
        expect(key).toEqual({ address: "f8d6e0586b0a20c7", keyIndex: expect.any(Number) });
    }),
    { numRuns: 500 },
  );
  expect(read).toBeGreaterThan(10);
});
