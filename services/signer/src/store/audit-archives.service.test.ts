import { writeFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { parseArchive } from "../audit/archive.ts";
import type { AuditReceipt } from "../audit/audit-log.ts";
import { verifyProof } from "../audit/verify-proof.ts";
import { getAuditProof } from "../domain/get-audit-proof.ts";
import { fileOf, newOperator } from "../testing/archive-operator.ts";
import { HOUR_MS, isCovered, newWorld } from "../testing/archive-world.ts";
import { auditKeys } from "../testing/audit-fixture.ts";
import { newAuditProcess, prisma, readCheckpointFile, verifyDatabase } from "../testing/audit-process.ts";
import { exportAudit, prismaAuditReader } from "./prisma-audit-reader.ts";

// Each test writes thousands of signed records.
vi.setConfig({ testTimeout: 120_000 });

const rows = async () => ({
  batches: await prisma.auditBatch.count(),
  chains: await prisma.auditChain.count(),
  checkpoints: await prisma.auditCheckpoint.count(),
  heads: await prisma.auditCheckpointHead.count(),
  archives: await prisma.auditArchive.count(),
});

async function proves({ chainId, sequence, hash }: AuditReceipt): Promise<void> {
  const { text, checkpoint, path } = await getAuditProof(prismaAuditReader(prisma))({ chainId, sequence, hash });
  const proof = { record: text, checkpoint: checkpoint.text, checkpointSignature: checkpoint.signature, path };
  expect(verifyProof(proof, auditKeys)).toMatchObject({ chainId, sequence: Number(sequence) });
}

describe("an archive", () => {
  it("takes the older part out; the log, its proofs and its checkpoints go on", async () => {
    const { one, other, clock, moveOn, before, closed, early, late } = await newWorld();
    const { archive, remove } = newOperator();
    const first = await archive(before);
    expect(first.at(-1)).toBe("end");
    const total = async () => {
      const { archives: _, ...log } = await rows();
      return Object.values(log).reduce((sum, count) => sum + count, await prisma.auditTreeBlock.count());
    };
    const all = await total();
    const removed = await remove(first);
    expect(removed).toBeGreaterThan(0);
    expect(await total()).toBe(all - removed);

    const after = await rows();
    expect(await prisma.auditChain.count({ where: { id: closed[0]!.chainId } })).toBe(0);
    // The records of the block that the archive ends in stay: 1025 to 1500.
    const least = await prisma.auditBatch.findFirst({
      where: { chainId: early[0]!.chainId },
      orderBy: { time: "asc" },
    });
    expect(Number(least!.lastSequence)).toBeGreaterThan(1024);
    const checkpoint = parseArchive((await prisma.auditArchive.findFirstOrThrow()).text)!.sequence;
    expect(await prisma.auditCheckpoint.findFirst({ orderBy: { sequence: "asc" } })).toMatchObject({
      sequence: BigInt(checkpoint),
    });
    const live = await verifyDatabase(readCheckpointFile(one.path));
    expect(live).toMatchObject({ problems: [], records: 705, chains: 2, uncovered: 0 });
    expect(live.begins).toMatchObject({
      ...{ by: "ada", approvedBy: "linus", reason: "the quarter's archive", sequence: checkpoint },
    });
    expect(await verifyDatabase(readCheckpointFile(one.path), [first])).toMatchObject({
      problems: [],
      records: 2255,
      chains: 3,
      begins: undefined,
    });
    for (const receipt of [late[0]!, late.at(-1)!, early.at(-1)!]) await proves(receipt);
    for (const receipt of [early[0]!, closed[0]!])
      await expect(proves(receipt)).rejects.toMatchObject({ reason: "InvalidRequest" });

    // All processes go on, also one whose file is new, and one whose file ended before the archive did.
    const fresh = newAuditProcess("fresh", true, { clock });
    writeFileSync(`${one.path}-behind`, `${JSON.stringify(readCheckpointFile(one.path)[0])}\n`);
    const behind = newAuditProcess("one-behind", true, { clock });
    await fresh.write(3);
    await one.write(400);
    await isCovered(2638);
    moveOn(1.1 * HOUR_MS);
    await other.write(4);
    await expect.poll(() => prisma.auditChain.count({ where: { closedIn: { not: null } } })).toBe(3);
    const second = await archive(new Date(clock.now().getTime() + 1));
    expect(await remove(second)).toBeGreaterThan(0);
    const processes = [one, other, fresh, behind];
    for (const { checkpointer } of processes) await checkpointer.close();
    expect(processes.map(({ state }) => state.alarms)).toEqual([0, 0, 0, 0]);
    const [kept, ...more] = readCheckpointFile(fresh.path);
    expect(JSON.parse(kept!.text)[1]).toBe(checkpoint);
    expect(readCheckpointFile(behind.path).slice(1)).toEqual([kept, ...more]);
    expect(await verifyDatabase(readCheckpointFile(one.path), [first, second])).toMatchObject({
      problems: [],
      records: 2662,
      begins: undefined,
    });
    expect((await verifyDatabase(readCheckpointFile(fresh.path), [second])).problems).toEqual([]);
    expect((await verifyDatabase([], [first])).problems.join()).toMatch(
      /the archive of checkpoints \d+ to \d+ is missing/,
    );
    expect((await rows()).batches).toBeLessThan(after.batches);
    expect(await prisma.auditArchive.count()).toBe(2);
  });

  it("is refused while it is too young, and where it would end behind what an open chain needs", async () => {
    const { one, other, before } = await newWorld();
    const untouched = await rows();
    const file = await newOperator().archive(before);
    const young = newOperator({ days: 29 });
    await expect(young.archive(before)).rejects.toMatchObject({ reason: "InvalidRequest" });
    await expect(young.remove(file)).rejects.toMatchObject({ reason: "InvalidRequest" });
    await expect(newOperator().archive(new Date(0))).rejects.toMatchObject({ reason: "InvalidRequest" });
    const last = await prisma.auditCheckpoint.findFirstOrThrow({ orderBy: { sequence: "desc" } });
    const behind = file.map((line) => (line.startsWith("until ") ? `until ${last.sequence}` : line));
    await expect(newOperator().remove(behind)).rejects.toMatchObject({ reason: "InvalidRequest" });
    // A time that somebody changed in the database makes nothing older.
    await prisma.auditCheckpoint.updateMany({ data: { time: new Date(0) } });
    await expect(young.remove(file)).rejects.toMatchObject({
      fields: [{ pointer: "/sequence", detail: "is a checkpoint that is too young" }],
    });
    expect(await rows()).toEqual(untouched);
    for (const { checkpointer } of [one, other]) await checkpointer.close();
  });

  it("that is not what the database has removes nothing", async () => {
    const { one, other, before } = await newWorld();
    const untouched = await rows();
    const { archive, remove } = newOperator();
    const file = await archive(before);
    const record = file.findIndex((line) => line.includes('"signed"'));
    const wrong = [
      file.slice(0, -1),
      file.toSpliced(record, 1),
      file.with(record, file[record]!.replace('"signed"', '"GasLimit"')),
      file.with(1, "until 1"),
    ];
    for (const each of wrong) await expect(remove(each)).rejects.toMatchObject({ reason: "InvalidRequest" });
    // Nor from a database that was changed, though the archive was written from it.
    const batch = await prisma.auditBatch.findFirstOrThrow({ where: { lastSequence: { gt: 20 } } });
    const where = { chainId_lastSequence: { chainId: batch.chainId, lastSequence: batch.lastSequence } };
    await prisma.auditBatch.update({ where, data: { texts: batch.texts.replace('"signed"', '"GasLimit"') } });
    await expect(remove(await archive(before))).rejects.toMatchObject({
      fields: [{ pointer: "/sequence", detail: expect.stringContaining("was changed") }],
    });
    await prisma.auditBatch.update({ where, data: { texts: batch.texts } });
    expect(await rows()).toEqual(untouched);
    await remove(file);
    // A file of another part does not take out more, and not the same part once more.
    await expect(remove(wrong[1]!)).rejects.toMatchObject({ reason: "InvalidRequest" });
    for (const { checkpointer } of [one, other]) await checkpointer.close();
  });

  it("is taken out as a whole wherever the removal was interrupted", async () => {
    const { one, other, before } = await newWorld();
    const { archive, removal, remove } = newOperator();
    const file = await archive(before);
    const isWhole = async () => {
      const { problems, records } = await verifyDatabase(readCheckpointFile(one.path), [file]);
      expect([problems, records]).toEqual([[], 2255]);
    };
    for (let steps = 2; ; steps += 1) {
      let [taken, isDone] = [0, true];
      for await (const _ of removal(file)) {
        taken += 1;
        isDone = false;
        if (taken === steps) break;
        isDone = true;
      }
      if ((await prisma.auditArchive.count()) > 0) await isWhole();
      if (isDone) break;
    }
    await remove(file);
    await isWhole();
    expect(await prisma.auditChain.count()).toBe(2);
    for (const { checkpointer, state } of [one, other]) {
      await checkpointer.close();
      expect(state.alarms).toBe(0);
    }
  });

  it("is taken out once by several administrators while signers append", async () => {
    const { one, other, before, clock } = await newWorld();
    const operators = [newOperator(), newOperator({ person: "grace" })];
    let isOver = false;
    let written = 0;
    const appending = [one, other].map(async ({ write }) => {
      while (!isOver) {
        const { length } = await write(40);
        written += length;
      }
    });
    const stop = () => {
      isOver = true;
      return Promise.all(appending);
    };
    const files = await Promise.all(operators.map(({ archive }) => archive(before)));
    expect(files[0]).toEqual(files[1]);
    const shorter = await newOperator().archive(before);
    const removals = await Promise.allSettled(operators.map(({ remove }, i) => remove(files[i]!))).finally(stop);
    expect(removals.map(({ status }) => status)).toContain("fulfilled");
    for (const { remove } of operators) await remove(shorter);
    expect(written).toBeGreaterThan(80);
    await isCovered(2235 + written);
    const fresh = newAuditProcess("fresh", true, { clock });
    await fresh.write(1);
    for (const { checkpointer } of [one, other, fresh]) await checkpointer.close();
    for (const { state } of [one, other, fresh]) expect(state.alarms).toBe(0);
    expect(await rows()).toMatchObject({ archives: 1, chains: 3 });
    expect(await verifyDatabase(readCheckpointFile(one.path), [shorter])).toMatchObject({
      problems: [],
      records: 2256 + written,
    });
  });

  it("of another end is refused where one was taken out meanwhile", async () => {
    const { one, other, before } = await newWorld();
    const { archive, removal, remove } = newOperator();
    const file = await archive(before);
    const early = await archive(new Date(before.getTime() - HOUR_MS));
    expect(early.length).toBeLessThan(file.length);
    const slow = removal(early);
    await slow.next();
    await newOperator({ person: "grace" }).remove(file);
    await expect(slow.next()).rejects.toMatchObject({ reason: expect.stringMatching(/InvalidRequest|Unavailable/) });
    await expect(remove(early)).rejects.toMatchObject({ reason: "InvalidRequest" });
    expect((await verifyDatabase(readCheckpointFile(one.path), [file])).problems).toEqual([]);
    for (const { checkpointer } of [one, other]) await checkpointer.close();
  });

  it("ends where an open chain was last covered, though another one goes on", async () => {
    const [quiet, other] = [newAuditProcess("quiet"), newAuditProcess("other")];
    const [receipt] = await quiet.write(1);
    for (const covered of [2, 3, 4]) {
      await other.write(1);
      await isCovered(covered);
    }
    const { chainId } = receipt!;
    const { checkpoint } = await prisma.auditCheckpointHead.findFirstOrThrow({ where: { chainId } });
    expect(fileOf(await newOperator().archive(new Date(Date.now() + 1))).sequence).toBe(Number(checkpoint));
    for (const { checkpointer } of [quiet, other]) await checkpointer.close();
  });

  it("makes an export fail that was begun before, and not look shortened", async () => {
    const { one, other, before } = await newWorld();
    const { archive, remove } = newOperator();
    const running = exportAudit(prisma);
    await running.next();
    await remove(await archive(before));
    await expect(
      (async () => {
        for await (const _ of running);
      })(),
    ).rejects.toMatchObject({ reason: "Unavailable" });
    for (const { checkpointer } of [one, other]) await checkpointer.close();
  });
});
