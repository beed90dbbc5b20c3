import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { auditKeys, auditWorld, chainIdOf, chunksOf } from "../testing/audit-fixture.ts";
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

  it("tells how many records no checkpoint covers yet", async () => {
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
    ["a missing tail", lines.toSpliced(record(2200), 1), /records 2200 to 2200 are missing/],
    ["a missing chain", lines.slice(0, -3).concat("end"), /chain .*3 is missing/],
    ["a missing checkpoint", lines.toSpliced(2, 1), /checkpoint 2 is missing/],
    ["a changed checkpoint", lines.with(2, lines[2]!.replace("2026", "2027")), /checkpoint 3 does not continue/],
    ["a cut file", lines.slice(0, -1), /cut off/],
    ["a line of something else", lines.toSpliced(5, 0, "hello"), /unreadable/],
    ["another file", ["hello"], /no export/],
  ];
  it.each(cases)("shows %s", async (_, changed, problem) => {
    expect(await problemsOf(changed)).toMatch(problem);
  });

  it("shows chains that were written anew with their checkpoints, without the key", async () => {
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
});
