import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { auditKeys, auditWorld, chainIdOf, chunksOf, newWriter, time } from "../testing/audit-fixture.ts";
import type { SignedCheckpoint } from "./checkpoint.ts";
import { verifyExport } from "./verify-export.ts";

function newWorld() {
  const world = auditWorld();
  world.write(1, 1500, (i) => ({ verdict: i % 7 === 0 ? "GasLimit" : "signed" }));
  world.checkpoint();
  world.write(1, 700);
  world.write(2, 3, () => ({ caller: 'a","b ü' }));
  world.checkpoint();
  world.write(3, 1);
  world.checkpoint();
  return world;
}
const world = newWorld();
const lines = world.export();
const first = lines.findIndex((line) => line.startsWith("chain "));
const record = (n: number) => first + n;
const verify = (changed: readonly string[], elsewhere?: readonly SignedCheckpoint[]) =>
  verifyExport(chunksOf(changed), {
    keys: auditKeys,
    ...(elsewhere && { elsewhere: [{ name: "file", checkpoints: elsewhere }] }),
  });
const problemsOf = async (...given: Parameters<typeof verify>) => (await verify(...given)).problems.join("; ");

describe("an export", () => {
  it("is whole as it was written", async () => {
    expect(await verify(lines, world.checkpoints)).toMatchObject({
      problems: [],
      records: 2204,
      chains: 3,
      checkpoints: 3,
      uncovered: 0,
    });
  });

  it("reports how many records no checkpoint covers yet", async () => {
    const more = newWorld();
    more.write(2, 4);
    more.write(4, 2);
    expect(await verify(more.export())).toMatchObject({ problems: [], uncovered: 6 });
  });

  const swap = (a: number, b: number) => lines.with(a, lines[b]!).with(b, lines[a]!);
  const cases: [string, string[], RegExp][] = [
    [
      "a changed verdict",
      lines.with(record(9), lines[record(9)]!.replace('"signed"', '"Signed"')),
      /record 9 was changed/,
    ],
    ["a changed hash", lines.with(record(9), lines[record(9)]!.replace(/^.{4}/, "0000")), /record 9 was changed/],
    ["a removed record", lines.toSpliced(record(9), 1), /record 9 is missing or moved/],
    ["two records in another order", swap(record(9), record(10)), /record 9 is missing or moved/],
    ["a record twice", lines.toSpliced(record(9), 0, lines[record(9)]!), /record 10 is missing or moved/],
    ["a missing tail", lines.toSpliced(record(2202), 1), /records 1501 to 2200 are in no signed batch/],
    ["a missing batch", lines.toSpliced(record(1502), 701), /records 1501 to 2200 are missing/],
    ["a missing chain", lines.slice(0, -4).concat("end"), /chain .*3 is missing/],
    ["a missing checkpoint", lines.toSpliced(2, 1), /checkpoint 2 is missing/],
    [
      "a checkpoint of a place far behind",
      lines.toSpliced(3, 0, lines[2]!.replace(/(checkpoint-\d\\*",)\d+,/, "$1999999999999999,")),
      /checkpoints \d to 999999999999998 are missing/,
    ],
    ["a changed checkpoint", lines.with(2, lines[2]!.replace("2026", "2027")), /checkpoint 3 does not continue/],
    ["a cut file", lines.slice(0, -1), /cut off/],
    ["a line of something else", lines.toSpliced(5, 0, "hello"), /unreadable/],
    ["a chain behind the end", lines.toSpliced(-4, 0, "end"), /stands behind the end/],
    ["a chain twice", lines.toSpliced(-4, 0, ...lines.slice(-4, -1)), /chain .*3 is there twice/],
    ["a checkpoint behind the chains", lines.toSpliced(-1, 0, lines[1]!), /line \d+ is unreadable/],
    ["a range behind the checkpoints", lines.toSpliced(4, 0, "until 3"), /line 5 is unreadable/],
    ["another file", ["hello"], /no export/],
  ];
  it.each(cases)("shows %s", async (_, changed, problem) => {
    expect(await problemsOf(changed)).toMatch(problem);
  });

  it("shows only the first of any number of lines that cannot be read: a process that signs verifies it, too", async () => {
    const { problems } = await verify([...lines.slice(0, -1), ...Array<string>(5_000).fill("x"), "end", "x"]);
    expect(problems[0]).toContain("is unreadable");
    expect(problems.length).toBeLessThan(1_100);
  });

  describe("shows records that no process of the signer has signed", () => {
    it("a writer that another key certified", async () => {
      const forged = auditWorld(newWriter({ certifiedBy: generateKeyPair() }));
      forged.write(5, 3);
      const problems = await problemsOf([...lines.slice(0, -1), ...forged.export().slice(1)]);
      expect(problems).toBe(`chain ${chainIdOf(5)}: the audit key has not certified its writer`);
    });

    it("a chain of a version without signatures", async () => {
      const text = JSON.stringify({ text: "", signature: "" });
      const bare = (line: string) => line.replace(/^(chain \S+ \d+ \S+) .*$/, `$1 ${text}`);
      const problems = await problemsOf(lines.map(bare));
      expect(problems).toContain(`chain ${chainIdOf(2)}: its records are not signed`);
    });

    it.each<[string, (batch: string) => string, RegExp]>([
      ["another signature", (batch) => batch.replace(/.{4}$/, "0000"), /records 1 to 1500 were not signed/],
      ["no signature", (batch) => batch.replace(/ \S*$/, " "), /records 1 to 1500 were not signed/],
      ["another end", (batch) => batch.replace(" 1500 ", " 1499 "), /records 1 to 1500 are not a whole batch/],
      ["another time", (batch) => batch.replace("2026", "2025"), /records 1 to 1500 are filed under another time/],
    ])("%s of a batch", async (_, change, problem) => {
      const at = record(1501);
      expect(lines[at]).toMatch(/^batch 1500 /);
      expect(await problemsOf(lines.with(at, change(lines[at]!)))).toMatch(problem);
    });

    it("another process's batch", async () => {
      const other = auditWorld();
      other.write(5, 1);
      const forged = newWorld();
      forged.chains.set(chainIdOf(5), other.chains.get(chainIdOf(5))!);
      expect(await problemsOf(forged.export())).toContain(`chain ${chainIdOf(5)}: records 1 to 1 were not signed`);
    });
  });

  describe("shows times of records that do not fit their checkpoints", () => {
    const after = (ms: number) => new Date(time.getTime() + ms);
    const HOUR_MS = 3_600_000;
    /**
     * Returns a record of `recordMs`, covered by the second of two checkpoints, one and two hours after the
     * start.
     */
    const problemsAt = (recordMs: number, { isCovered = true } = {}) => {
      const timed = auditWorld();
      timed.write(1, 1, () => ({ time: after(HOUR_MS) }));
      timed.checkpoint(undefined, after(HOUR_MS));
      timed.write(1, 2, () => ({ time: after(recordMs) }));
      if (isCovered) timed.checkpoint(undefined, after(2 * HOUR_MS));
      return problemsOf(timed.export());
    };

    it("a minute earlier or later is within the tolerance", async () => {
      for (const ms of [HOUR_MS - 60_000, HOUR_MS, 1.5 * HOUR_MS, 2 * HOUR_MS + 60_000])
        expect(await problemsAt(ms)).toBe("");
    });

    it("later than the checkpoint that covers it first", async () => {
      expect(await problemsAt(2 * HOUR_MS + 60_001)).toMatch(/record 2 is of a time after the checkpoint/);
    });

    it("earlier than the checkpoint that did not cover it yet", async () => {
      expect(await problemsAt(HOUR_MS - 60_001)).toMatch(/record 2 is of a time before the checkpoint/);
      expect(await problemsAt(HOUR_MS - 60_001, { isCovered: false })).toMatch(/record 2 is of a time before/);
      expect(await problemsAt(3 * HOUR_MS, { isCovered: false })).toBe("");
    });

    it("earlier than the start of the process that signed it", async () => {
      const early = auditWorld(newWriter({ startedAt: after(60_001) }));
      early.write(1, 1);
      early.checkpoint(undefined, after(120_000));
      expect(await problemsOf(early.export())).toMatch(/record 1 is of a time before/);
    });

    it("a checkpoint earlier than the one before", async () => {
      const back = auditWorld();
      back.write(1, 1);
      back.checkpoint();
      back.write(1, 1);
      back.checkpoint(undefined, after(-60_001));
      expect(await problemsOf(back.export())).toContain("checkpoint 2 has an earlier time than the one before");
    });
  });

  it("shows chains that were written again with their checkpoints, without the key", async () => {
    const forged = auditWorld();
    forged.write(1, 1500);
    forged.checkpoint(generateKeyPair());
    expect(await problemsOf(forged.export())).toMatch(/not signed by the audit key/);
  });

  it("shows rewritten records below checkpoints that were kept", async () => {
    const forged = auditWorld();
    forged.write(1, 2200);
    forged.write(2, 3, () => ({ caller: 'a","b ü' }));
    forged.write(3, 1);
    forged.checkpoints.push(...world.checkpoints);
    expect(await problemsOf(forged.export())).toMatch(/the records up to 1500 are not those signed for/);
  });

  it("shows checkpoints that the export hides, by those that were kept elsewhere", async () => {
    const without = (...hidden: number[]) => lines.filter((_, i) => !hidden.includes(i));
    expect(lines[1]).toMatch(/^checkpoint /);
    expect(await problemsOf(without(2), world.checkpoints)).toBe("export hides checkpoint 2, which file has");
    expect(await problemsOf(without(1, 2), world.checkpoints)).toBe("export hides checkpoints 1 to 2, which file has");
    // Also the last one, whose records are all there.
    expect(await problemsOf(without(1, 3), world.checkpoints)).toBe(
      "export hides checkpoint 1, which file has; export hides checkpoint 3, which file has",
    );
    // A file that begins or ends earlier hides nothing: only the export has to have all of them.
    expect(await problemsOf(lines, world.checkpoints.slice(0, 2))).toBe("");
    const both = [
      { name: "one", checkpoints: world.checkpoints.slice(0, 1) },
      { name: "other", checkpoints: world.checkpoints },
    ];
    expect((await verifyExport(chunksOf(lines), { keys: auditKeys, elsewhere: both })).problems).toEqual([]);
  });

  it("shows a tail cut off with its checkpoints, by checkpoints that were kept elsewhere", async () => {
    const older = auditWorld();
    older.write(1, 1500, (i) => ({ verdict: i % 7 === 0 ? "GasLimit" : "signed" }));
    older.checkpoints.push(world.checkpoints[0]!);
    expect(await problemsOf(older.export())).toBe("");
    const problems = await problemsOf(older.export(), world.checkpoints);
    expect(problems).toMatch(/records 1501 to 2200 are missing/);
    expect(problems).toContain(`chain ${chainIdOf(2)} is missing`);
  });

  describe("with closed chains", () => {
    /** Chains 1 and 2, the first one closed by the second checkpoint; both checkpoints of the new format. */
    function newClosed() {
      const closing = auditWorld();
      closing.write(1, 20);
      closing.write(2, 5);
      closing.checkpoint(undefined, time, []);
      closing.write(2, 5);
      closing.checkpoint(undefined, time, [1]);
      return closing;
    }
    const problems = (closing: ReturnType<typeof auditWorld>) => problemsOf(closing.export());

    it("is whole, also behind checkpoints of the first format", async () => {
      expect(await verify(newClosed().export())).toMatchObject({ problems: [], records: 30, uncovered: 0 });
      const older = newWorld();
      older.write(3, 2);
      older.checkpoint(undefined, time, [1]);
      older.write(3, 2);
      older.checkpoint(undefined, time, [2, 3]);
      expect(await problems(older)).toBe("");
      expect(await problemsOf(older.export(), older.checkpoints)).toBe("");
    });

    it("shows a closed chain that a later checkpoint continues", async () => {
      const closing = newClosed();
      closing.write(1, 1);
      closing.checkpoint(undefined, time, []);
      expect(await problems(closing)).toContain(
        `checkpoint 3 continues chain ${chainIdOf(1)}, which was closed before`,
      );
    });

    it("shows records behind the end of a closed chain, though its process signed them", async () => {
      const closing = newClosed();
      closing.write(1, 3);
      expect(await problems(closing)).toBe(`chain ${chainIdOf(1)}: its last 3 records were added after it was closed`);
    });

    it("shows a closed chain that is missing, shorter or changed", async () => {
      const closing = newClosed();
      const exported = closing.export();
      const from = exported.findIndex((line) => line.startsWith(`chain ${chainIdOf(1)}`));
      const to = exported.findIndex((line) => line.startsWith(`chain ${chainIdOf(2)}`));
      expect(await problemsOf(exported.toSpliced(from, to - from))).toBe(`chain ${chainIdOf(1)} is missing`);
      expect(await problemsOf(exported.toSpliced(to - 2, 1))).toContain("record 20 is missing or moved");
    });

    it("shows a chain that a checkpoint drops without closing it", async () => {
      const closing = newClosed();
      closing.chains.delete(chainIdOf(2));
      closing.write(3, 1);
      closing.checkpoint(undefined, time, []);
      expect(await problems(closing)).toContain("checkpoint 3 signs for other heads than those before it name");
    });

    it("shows a chain that is closed at another place than its last one, or twice", async () => {
      const forked = auditWorld();
      forked.write(1, 20);
      forked.checkpoint(undefined, time, []);
      const fork = auditWorld();
      fork.write(1, 20, () => ({ caller: "another" }));
      const { records } = forked.chains.get(chainIdOf(1))!;
      forked.chains.get(chainIdOf(1))!.records = fork.chains.get(chainIdOf(1))!.records;
      forked.write(2, 1);
      forked.checkpoint(undefined, time, [1]);
      forked.chains.get(chainIdOf(1))!.records = records;
      expect(await problems(forked)).toContain(
        `checkpoint 2 closes chain ${chainIdOf(1)} at another place than its last one`,
      );
      const twice = newClosed();
      twice.write(2, 1);
      twice.checkpoint(undefined, time, [1]);
      expect(await problems(twice)).toContain(`checkpoint 3 closes chain ${chainIdOf(1)} at another place`);
    });
  });
});
