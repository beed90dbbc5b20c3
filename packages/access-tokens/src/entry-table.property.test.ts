import { uuidv4 } from "@countersign/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EntryTable } from "./entry-table.ts";
import { KEY_ID_BYTES, pack, toKeyId, uuidToHex } from "./packed-entry.ts";

const ids = Array.from({ length: 40 }, uuidv4);
/** Ids whose last bytes, and so their hashes, are the same. */
const colliding = Array.from({ length: 8 }, (_, i) => `0000000${i}-0000-4000-8000-00000000aaaa`);
const anyId = fc.constantFrom(...ids, ...colliding);
const anyTime = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.constant(Number.POSITIVE_INFINITY));
const anyStep = fc.oneof(
  fc.record({ add: fc.array(fc.tuple(anyId, anyTime), { maxLength: 30 }) }),
  fc.record({ removeUntil: fc.integer({ min: 0, max: 60 }) }),
);

describe("a table of entries", () => {
  it("has what a Map would have, but for entries that have ended", () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 40 }), (steps) => {
        const table = new EntryTable();
        const model = new Map<string, number>();
        let now = 0;
        for (const step of steps) {
          if ("add" in step) {
            table.add(pack(step.add.map(([id, time]) => ({ id: uuidToHex(id), time }))));
            for (const [id, time] of step.add) model.set(id, time);
          } else {
            now = Math.max(now, step.removeUntil);
            table.removeUntil(now);
          }
        }
        for (const id of [...ids, ...colliding]) {
          const time = model.get(id) ?? 0;
          const [entry, ...more] = table.find(id).filter((found) => found.time > now);
          expect(more).toEqual([]);
          expect(entry?.time ?? 0).toBe(time > now ? time : 0);
        }
      }),
    );
  });

  it("finds all keys of an account, and each by its last time", () => {
    const [account, other] = [uuidv4(), uuidv4()];
    const key = (digits: string) => ({ algorithm: "ES256", publicKey: digits.repeat(64) }) as const;
    const table = new EntryTable(KEY_ID_BYTES);
    const entry = (accountId: string, digits: string, time: number) => ({ id: toKeyId(accountId, key(digits)), time });
    table.add(pack([entry(account, "01", 1), entry(other, "02", 2), entry(account, "03", 3)]));
    table.add(pack([entry(account, "01", 4)]));
    const byTime = table.find(account).toSorted((a, b) => a.time - b.time);
    expect(byTime).toEqual([entry(account, "03", 3), entry(account, "01", 4)]);
  });

  it("forgets entries that have ended once they take half of the memory", () => {
    const table = new EntryTable();
    const entries = Array.from({ length: 1000 }, (_, i) => ({ id: uuidToHex(uuidv4()), time: i }));
    table.add(pack(entries));
    table.removeUntil(400);
    expect(table.find(entries[0]!.id)).toHaveLength(1);
    table.removeUntil(600);
    expect(entries.filter(({ id }) => table.find(id).length > 0)).toEqual(entries.slice(601));
  });

  it("takes no more memory for entries that come again", () => {
    const table = new EntryTable();
    const page = pack(ids.map((id) => ({ id: uuidToHex(id), time: 1 })));
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 100_000; i += 1) table.add(page);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20 * 1024 * 1024);
    expect(table.find(ids[0]!)).toHaveLength(1);
  });

  it("rejects a part of an entry", () => {
    expect(() => new EntryTable().add(Buffer.alloc(25))).toThrow(RangeError);
  });
});
