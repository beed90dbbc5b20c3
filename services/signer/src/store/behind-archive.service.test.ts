import { describe, expect, it, vi } from "vitest";
import { archiveText } from "../audit/archive.ts";
import { beginEpoch } from "../audit/begin-epoch.ts";
import { newOperator } from "../testing/archive-operator.ts";
import { isCovered, newWorld } from "../testing/archive-world.ts";
import { auditKeys, signedText } from "../testing/audit-fixture.ts";
import { newAuditProcess, prisma, readCheckpointFile, verifyDatabase } from "../testing/audit-process.ts";
import { readForEpoch } from "./prisma-checkpoint-store.ts";

// Each test writes thousands of signed records.
vi.setConfig({ testTimeout: 120_000 });

describe("behind an archive", () => {
  async function archived() {
    const world = await newWorld();
    const { archive, remove } = newOperator();
    const file = await archive(world.before);
    await remove(file);
    return { ...world, file };
  }

  it("a changed tree is made again from the archive's end", async () => {
    const { one, other, early } = await archived();
    const where = { chainId: early[0]!.chainId };
    const tree = await prisma.auditTree.findUniqueOrThrow({ where });
    await prisma.auditTree.update({ where, data: { frontier: Uint8Array.from(tree.frontier.toReversed()) } });
    await one.write(2);
    await isCovered(2237);
    for (const { checkpointer } of [one, other]) await checkpointer.close();
    expect((await verifyDatabase(readCheckpointFile(one.path))).problems).toEqual([]);
  });

  it("rows that were removed without an archive are missed, also with a statement that nobody signed", async () => {
    const { one, other, clock, file } = await archived();
    await prisma.auditArchive.deleteMany();
    // The archive has one checkpoint or more.
    expect((await verifyDatabase()).problems.join()).toMatch(/checkpoints? 1 (is|to \d+ are) missing/);
    const fresh = newAuditProcess("fresh", true, { clock });
    await expect.poll(() => fresh.state.alarms).toBeGreaterThan(0);
    const last = await prisma.auditCheckpoint.findFirstOrThrow({ orderBy: { sequence: "desc" } });
    const forged = { after: 0, sequence: Number(last.sequence), hash: last.hash, time: last.time, heads: [] };
    const stated = {
      sha256: "0".repeat(64),
      keyVersion: 1,
      removedAt: last.time,
      by: "mallory",
      approvedBy: "",
      reason: "none",
    };
    const { text } = signedText(archiveText({ ...forged, ...stated }));
    await prisma.auditArchive.create({ data: { afterCheckpoint: 0, text, signature: "00".repeat(64) } });
    expect((await verifyDatabase([], [file])).problems.join()).toContain("has not signed the statement");
    for (const { checkpointer } of [one, other, fresh]) await checkpointer.close();
  });

  it("a restore is stated as before", async () => {
    const { one, other, file } = await archived();
    for (const { checkpointer } of [one, other]) await checkpointer.close();
    const elsewhere = [{ name: "file", checkpoints: readCheckpointFile(one.path) }];
    const stated = { by: "ada", reason: "disk lost", time: new Date(), keyVersion: 1 };
    // The database lost its last checkpoint and the records under it.
    const newest = await prisma.auditCheckpoint.findFirstOrThrow({ orderBy: { sequence: "desc" } });
    await prisma.auditCheckpoint.delete({ where: { sequence: newest.sequence } });
    await prisma.$transaction(async (tx) => {
      const basis = { ...(await readForEpoch(tx)), elsewhere, keys: auditKeys, wentBack: true };
      const epoch = (await beginEpoch(basis, stated))!;
      expect(epoch.lost).toHaveLength(1);
      expect(epoch.checkpoint).toMatchObject({
        sequence: Number(newest.sequence) + 1,
        previousHash: newest.hash,
        restore: { databaseSequence: Number(newest.sequence) - 1, ends: [] },
      });
      expect(epoch.checkpoint.closed).toHaveLength(2);
      const signed = (await readForEpoch(tx)).archive!;
      const other = { ...basis, archive: { ...signed, signature: "00".repeat(64) } };
      await expect(beginEpoch(other, stated)).rejects.toThrow("not signed by the audit key");
    });
    expect(file.length).toBeGreaterThan(1000);
  });
});
