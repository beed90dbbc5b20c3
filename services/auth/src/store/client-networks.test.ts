import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { networksOf } from "./client-networks.ts";

describe("networksOf", () => {
  it.each([
    ["203.0.113.9", "203.0.113.9", undefined],
    ["::ffff:203.0.113.9", "203.0.113.9", undefined],
    ["::FFFF:cb00:7109", "203.0.113.9", undefined],
    ["0:0:0:0:0:ffff:cb00:7109", "203.0.113.9", undefined],
    ["64:ff9b::203.0.113.9", "203.0.113.9", undefined],
    ["64:ff9b::cb00:7109", "203.0.113.9", undefined],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48"],
    ["2001:0DB8:0001:0002::", "2001:db8:1:2::/64", "2001:db8:1::/48"],
    ["2001:db8:1:2::203.0.113.9", "2001:db8:1:2::/64", "2001:db8:1::/48"],
    ["fe80::1%eth0.1-x", "fe80:0:0:0::/64", "fe80:0:0::/48"],
    ["::1", "0:0:0:0::/64", "0:0:0::/48"],
    [undefined, "unknown", undefined],
    ["", "unknown", undefined],
    ["somewhere", "unknown", undefined],
    ["203.0.113.9:443", "unknown", undefined],
    ["[2001:db8::1]", "unknown", undefined],
  ])("of %s", (address, own, wide) => {
    expect(networksOf(address)).toEqual({ own, wide });
  });

  it("is the same for all addresses of a /64, however they are written", () => {
    const group = fc.integer({ min: 0, max: 0xffff });
    const network = fc.tuple(fc.constantFrom(0x2001, 0x2a02, 0x2600), group, group, group);
    fc.assert(
      fc.property(network, fc.array(group, { minLength: 4, maxLength: 4 }), fc.boolean(), (first, last, padded) => {
        const spell = (groups: number[]) =>
          groups
            .map((each) => (padded ? each.toString(16).padStart(4, "0").toUpperCase() : each.toString(16)))
            .join(":");
        const { own, wide } = networksOf(spell([...first, ...last]));
        const short = `${spell(first)}::`;
        expect(networksOf(short)).toEqual({ own, wide });
        expect(networksOf(short.replace(/^(.*):[^:]+::$/, "$1::")).wide).toBe(wide);
      }),
      { numRuns: 200 },
    );
  });
});
