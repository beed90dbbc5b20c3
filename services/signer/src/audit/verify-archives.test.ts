import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { auditKeys, auditWorld, chainIdOf, chunksOf, time } from "../testing/audit-fixture.ts";
import type { SignedCheckpoint } from "./checkpoint.ts";
import { verifyExports } from "./verify-export.ts";

/** Chain 1 grows in all parts, chain 2 is closed in the second, chain 3 is quiet there, chain 4 is new. */
async function archivedWorld() {
  const world = auditWorld();
  world.write(1, 1500);
  world.write(2, 3);
  world.write(3, 5);
  world.checkpoint(undefined, time, []);
  const first = await world.archive();
  world.write(1, 700);
  world.write(2, 4);
  world.checkpoint(undefined, time, []);
  world.write(1, 1);
  world.checkpoint(undefined, time, [2]);
  const second = await world.archive();
  world.write(1, 9);
  world.write(4, 2);
  world.checkpoint(undefined, time, []);
  const third = await world.archive();
  world.write(1, 2);
  world.write(3, 2);
  world.checkpoint(undefined, time, []);
  world.write(4, 1);
  return { world, parts: [first, second, third, world.export()] as const };
}
const { world, parts } = await archivedWorld();
const [first, second, third, rest] = parts;

const verify = (files: readonly (readonly string[])[], elsewhere?: readonly SignedCheckpoint[]) =>
  verifyExports(
    files.map((lines) => chunksOf(lines)),
    { keys: auditKeys, ...(elsewhere && { elsewhere: [{ name: "file", checkpoints: elsewhere }] }) },
  );
const problemsOf = async (...given: Parameters<typeof verify>) => (await verify(...given)).problems.join("; ");

describe("archives", () => {
  it("and the export behind them are the whole log, also compared with checkpoints kept elsewhere", async () => {
    for (const elsewhere of [undefined, world.checkpoints, world.checkpoints.slice(3)])
      expect(await verify(parts, elsewhere)).toMatchObject({
        problems: [],
        records: 2229,
        chains: 4,
        checkpoints: 5,
        uncovered: 1,
        begins: undefined,
        end: undefined,
      });
  });

  it("are verified alone, and say what is before and behind them", async () => {
    const cases = [
      [[first], undefined, 1],
      [[second], 1, 3],
      [[second, third], 1, 4],
      [[third, rest], 3, undefined],
      [[rest], 4, undefined],
    ] as const;
    for (const [files, begins, end] of cases) {
      const report = await verify(files, world.checkpoints);
      expect([report.problems, report.begins?.sequence, report.end?.sequence]).toEqual([[], begins, end]);
    }
    expect((await verify([third])).begins).toMatchObject({
      ...{ after: 1, by: "ada", approvedBy: "grace", reason: "space" },
    });
  });

  const record = (lines: readonly string[], n: number) =>
    lines.findIndex((line) => line.includes(`["countersign-audit-1","${chainIdOf(1)}","${n}"`));
  const changed = (lines: readonly string[], n: number) =>
    lines.with(record(lines, n), lines[record(lines, n)]!.replace('"signed"', '"GasLimit"'));
  const cases: [string, readonly (readonly string[])[], string][] = [
    ["a missing first archive", [second, third, rest], ""],
    ["a missing archive in the middle", [first, third, rest], "file 2: the archive of checkpoints 2 to 3 is missing"],
    ["two missing archives", [first, rest], "file 2: the archive of checkpoints 2 to 4 is missing"],
    ["archives in another order", [first, third, second, rest], "file 3: it begins behind checkpoint 1"],
    ["an archive twice", [first, second, second, third, rest], "file 3: it begins behind checkpoint 1"],
    ["a file behind the export", [first, second, third, rest, second], "file 5: the file before is no archive"],
    ["the first archive at another place", [first, second, first], "file 3: it begins with the first record"],
    ["a truncated archive", [first, second.slice(0, -1), third, rest], "file 2: the export is cut off"],
    ["an archive without its last chain", [first, second.slice(0, -2).concat("end"), third, rest], "is missing"],
    ["an altered record", [first, changed(second, 1501), third, rest], "file 2: chain .*: record 1501 was changed"],
    [
      "a missing record",
      [first, second.toSpliced(record(second, 1501), 1), third, rest],
      "file 2: chain .*: record 1501 is missing or moved",
    ],
    [
      "records of before the archive",
      [first, second, third.toSpliced(record(third, 2202), 0, second[record(second, 2201)]!), rest],
      "file 3: chain .*: record 2202 is missing or moved",
    ],
    [
      "an archive without a checkpoint",
      [first, second.toSpliced(3, 1), third, rest],
      "file 2: checkpoint 2 is missing",
    ],
    [
      "an archive that ends too early",
      [first, second.toSpliced(4, 1), third, rest],
      "file 2: the archive does not end with checkpoint 3",
    ],
    [
      "another end in the archive's head",
      [first, second.with(2, "until 2"), third, rest],
      "file 3: the archive of checkpoints 3 to 3 is missing",
    ],
    [
      "an archive that is said to be all",
      [first, second.toSpliced(2, 1), third, rest],
      "file 3: the file before is no",
    ],
    ["an archive without its beginning", [first, second.toSpliced(1, 1), third, rest], "begins with the first record"],
    [
      "a harmless change of the file",
      [first, second.with(-1, "end "), third, rest],
      "file 3: the archive before is not the file that was taken out",
    ],
  ];
  it.each(cases)("%s is found", async (_, files, problem) => {
    if (problem !== "") expect(await problemsOf(files)).toMatch(new RegExp(problem));
    else expect((await verify(files)).begins?.sequence).toBe(1);
  });

  it("of another installation are found, also with the same audit key", async () => {
    const other = auditWorld();
    other.write(1, 1500);
    other.write(3, 5);
    other.checkpoint(undefined, time, []);
    const foreign = await other.archive();
    expect(await problemsOf([foreign])).toBe("");
    expect(await problemsOf([foreign, second, third, rest])).toBe(
      "file 2: the archive before is not the file that was taken out of the database",
    );
    expect(await problemsOf([foreign], world.checkpoints)).toContain("checkpoint 1 is another one than elsewhere");
    const unknownKey = { keys: new Map([[1, generateKeyPair().publicKey]]) };
    const report = await verifyExports([chunksOf(second)], unknownKey);
    expect(report.problems.join()).toContain("has not signed the statement");
  });

  it("that are missing are not hidden by a statement of another key, nor by one about other chains", async () => {
    const forged = auditWorld();
    forged.write(1, 20);
    forged.checkpoint(undefined, time, []);
    await forged.archive({}, generateKeyPair());
    forged.write(1, 1);
    forged.checkpoint(undefined, time, []);
    expect(await problemsOf([forged.export()])).toContain("has not signed the statement about the archive before");
    const dropped = auditWorld();
    dropped.write(1, 20);
    dropped.write(2, 3);
    dropped.checkpoint(undefined, time, []);
    const archive = await dropped.archive({ heads: [] });
    dropped.write(2, 1);
    dropped.checkpoint(undefined, time, []);
    expect(await problemsOf([dropped.export()])).toContain("signs for other heads than those before it name");
    expect(await problemsOf([archive, dropped.export()])).toContain("it continues another log");
  });

  it("hide no checkpoint that was kept elsewhere, and no missing rest that a checkpoint covers", async () => {
    expect(await problemsOf([first, second, third.toSpliced(3, 1)], world.checkpoints)).toContain(
      "export hides checkpoint 4, which file has",
    );
    const shorter = rest.filter((line) => !line.startsWith("checkpoint "));
    expect(await problemsOf([first, second, third, shorter], world.checkpoints)).toContain("hides checkpoint 5");
    // The archive's last checkpoint is compared, though only the next file is given.
    const other = { ...world.checkpoints[3]!, text: world.checkpoints[3]!.text.replace("2026", "2027") };
    expect(await problemsOf([rest], world.checkpoints.with(3, other))).toContain("checkpoint 4 is another one");
  });

  it("have no record behind their last checkpoint: the next file would have it, too", async () => {
    const longer = auditWorld();
    longer.write(1, 3);
    longer.checkpoint(undefined, time, []);
    longer.write(1, 2);
    expect(await problemsOf([await longer.archive()])).toBe(
      "2 records are behind checkpoint 1, with which the archive ends",
    );
  });

  it("that were closed in one of them stay closed in the next", async () => {
    const closing = auditWorld();
    closing.write(1, 2);
    closing.write(2, 2);
    closing.checkpoint(undefined, time, [1]);
    const archive = await closing.archive();
    closing.write(2, 1);
    closing.checkpoint(undefined, time, []);
    const lines = closing.export();
    const reopened = auditWorld();
    reopened.write(1, 2);
    const revived = [...lines.slice(0, -1), ...reopened.export().slice(1)];
    expect(await problemsOf([archive, lines])).toBe("");
    expect(await problemsOf([archive, revived])).toContain("added after it was closed");
  });

  it("may be empty of new records: the log has none behind them", async () => {
    const quiet = auditWorld();
    quiet.write(1, 1030);
    quiet.checkpoint(undefined, time, []);
    const archive = await quiet.archive();
    expect(await verify([archive, quiet.export()])).toMatchObject({ problems: [], records: 1030, uncovered: 0 });
    expect(await verify([quiet.export()])).toMatchObject({ problems: [], records: 0, until: time });
    quiet.write(1, 3);
    expect(await verify([quiet.export()])).toMatchObject({ problems: [], records: 3, uncovered: 3 });
  });
});
