import { describe, expect, it } from "vitest";
import { groupUses, type LatestUses } from "./group-uses.ts";

const key = (publicKey: string) => ({ algorithm: "ES256" as const, publicKey });
const at = (second: number) => new Date(Date.UTC(2026, 10, 20, 10, 0, second));

describe("groupUses", () => {
  it("writes the latest use of each key once, in a fixed order", async () => {
    const written: LatestUses[] = [];
    const note = groupUses({ isDistributed: async () => false }, async (uses) => {
      written.push(uses);
      return [];
    });
    await Promise.all([
      note({ accountId: "first", key: key("bb"), usedAt: at(0) }),
      note({ accountId: "b", key: key("bb"), usedAt: at(1) }),
      note({ accountId: "a", key: key("bb"), usedAt: at(3) }),
      note({ accountId: "a", key: key("bb"), usedAt: at(2) }),
      note({ accountId: "a", key: key("aa"), usedAt: at(1) }),
    ]);
    expect(written).toEqual([
      {
        accountIds: ["a", "a", "b", "first"],
        algorithms: ["ES256", "ES256", "ES256", "ES256"],
        keys: ["aa", "bb", "bb", "bb"],
        usedAt: [at(1), at(3), at(1), at(0)].map((date) => date.toISOString()),
      },
    ]);
  });
});
