import { appendFileSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { describe, expect, it } from "vitest";
import type { AuditReceipt } from "../audit/audit-log.ts";
import { openCheckpointFile } from "../audit/checkpoint-file.ts";
import { sha256 } from "../audit/record.ts";
import { splitHashes } from "../audit/tree.ts";
import { verifyExport } from "../audit/verify-export.ts";
import { verifyProof } from "../audit/verify-proof.ts";
import { getAuditProof } from "../domain/get-audit-proof.ts";
import { auditEntry, auditKeys, chunksOf } from "../testing/audit-fixture.ts";
import {
  accountId,
  countCovered,
  newAuditLog,
  newAuditProcess,
  prisma,
  readCheckpointFile,
  verifyDatabase,
} from "../testing/audit-process.ts";
import { exportAudit, prismaAuditReader } from "./prisma-audit-reader.ts";
import { readRecordHashes } from "./prisma-checkpoint-store.ts";

describe("checkpoints on Postgres", () => {
  it("cover all chains of all processes within moments; each process has them in its file; every record is proven", async () => {
    const processes = [newAuditProcess("one"), newAuditProcess("two")];
    const receipts: AuditReceipt[] = [];
    for (const count of [300, 900, 1]) {
      for (const { write } of processes) receipts.push(...(await write(count)));
      await expect.poll(countCovered).toBe(receipts.length);
    }
    for (const { checkpointer } of processes) await checkpointer.close();
    const stored = await prisma.auditCheckpoint.findMany({ orderBy: { sequence: "asc" } });
    for (const { path, state } of processes) {
      expect(readCheckpointFile(path)).toEqual(stored.map(({ text, signature }) => ({ text, signature })));
      expect(state.alarms).toBe(0);
    }
    expect(await verifyDatabase(readCheckpointFile(processes[0]!.path))).toMatchObject({
      problems: [],
      records: 2402,
      chains: 2,
      uncovered: 0,
    });

    const prove = getAuditProof(prismaAuditReader(prisma));
    for (const receipt of [receipts[0]!, receipts[299]!, receipts[1100]!, receipts.at(-1)!]) {
      const { text, checkpoint, path } = await prove(receipt);
      const proof = { record: text, checkpoint: checkpoint.text, checkpointSignature: checkpoint.signature, path };
      expect(verifyProof(proof, auditKeys)).toMatchObject({ sequence: Number(receipt.sequence), verdict: "signed" });
      expect(verifyProof({ ...proof, record: text.replace("gateway", "another") }, auditKeys)).toMatch(/path/);
      expect(verifyProof({ ...proof, path: [...path, Buffer.alloc(32)] }, auditKeys)).toMatch(/path/);
      expect(verifyProof({ ...proof, checkpoint: checkpoint.text.replace("2026", "2027") }, auditKeys)).toMatch(
        /signed/,
      );
      expect(verifyProof(proof, new Map())).toMatch(/signed/);
      expect(verifyProof({ ...proof, record: text.replace("2026", "2027") }, auditKeys)).toMatch(/path/);
    }
    await expect(prove({ ...receipts[0]!, hash: "0".repeat(64) })).rejects.toMatchObject({ reason: "InvalidRequest" });
  });

  it("are published through the outbox, in the transaction that writes them", async () => {
    const { checkpointer, write } = newAuditProcess("one");
    await write(3);
    await checkpointer.close();
    const stored = await prisma.auditCheckpoint.findMany();
    const rows = await prisma.outbox.findMany({ where: { subject: "cs.v1.signer.all.audit-checkpoint" } });
    const events = rows.map(({ payload }) => Event.decode(payload).auditCheckpoint!);
    expect(events.map(({ text }) => text.toString()).sort()).toEqual(stored.map(({ text }) => text).sort());
    expect(events[0]).toMatchObject({ keyVersion: 1, signature: Buffer.from(stored[0]!.signature, "hex") });
  });

  it("nothing new, no checkpoint; the proof of a record without one yet is Unavailable", async () => {
    const receipts = await newAuditLog().append(auditEntry({ accountId, time: new Date() }));
    const prove = getAuditProof(prismaAuditReader(prisma));
    await expect(prove(receipts)).rejects.toMatchObject({ reason: "Unavailable", retryAfterSeconds: 1 });
    // The next process covers the records that a process left uncovered when it died.
    const { checkpointer } = newAuditProcess("one");
    await expect.poll(countCovered).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 500));
    await checkpointer.close();
    expect(await prisma.auditCheckpoint.count()).toBe(1);
    await expect(prove(receipts)).resolves.toMatchObject({ path: [] });
  });

  it("a file with half a line goes on behind its last whole one; a foreign line stops the start", async () => {
    const one = newAuditProcess("one");
    await one.write(2);
    await one.checkpointer.close();
    const before = readFileSync(one.path, "utf8");
    appendFileSync(one.path, before.slice(0, 40));
    const again = newAuditProcess("one");
    await again.write(2);
    await again.checkpointer.close();
    expect(readFileSync(one.path, "utf8").startsWith(before)).toBe(true);
    expect(await verifyDatabase(readCheckpointFile(one.path))).toMatchObject({ problems: [], uncovered: 0 });
    writeFileSync(one.path, "hello\n");
    expect(() => openCheckpointFile(one.path)).toThrow("no checkpoint");
  });

  it("a file that is moved away goes on as another one, which the next process continues", async () => {
    const one = newAuditProcess("one");
    await one.write(2);
    await expect.poll(() => readCheckpointFile(one.path)).not.toEqual([]);
    renameSync(one.path, `${one.path}.old`);
    await one.write(2);
    await one.checkpointer.close();
    const again = newAuditProcess("one");
    await again.write(2);
    await again.checkpointer.close();
    expect(readCheckpointFile(one.path)).not.toEqual([]);
    const kept = [`${one.path}.old`, one.path].flatMap(readCheckpointFile);
    expect(kept).toHaveLength(await prisma.auditCheckpoint.count());
    expect(await verifyDatabase(kept)).toMatchObject({ problems: [], uncovered: 0 });
    expect([one.state.alarms, again.state.alarms]).toEqual([0, 0]);
  });

  /** Changes the records of the one batch, its hashes with them where they are about the same. */
  async function tamper(change: (lines: { text: string; hash: Buffer }[]) => void): Promise<void> {
    const batch = await prisma.auditBatch.findFirstOrThrow();
    const hashes = splitHashes(batch.hashes);
    const lines = batch.texts.split("\n").map((text, i) => ({ text, hash: hashes[i]! }));
    change(lines);
    const data = {
      texts: lines.map(({ text }) => text).join("\n"),
      hashes: Uint8Array.from(Buffer.concat(lines.map(({ hash }) => hash))),
    };
    await prisma.auditBatch.updateMany({ data });
  }
  const changed = (line: { text: string }) => {
    line.text = line.text.replace('"signed"', '"GasLimit"');
  };
  const tampering: [string, () => Promise<unknown>, RegExp][] = [
    ["a changed record", () => tamper((lines) => changed(lines[4]!)), /record 5 was changed/],
    [
      "a changed record with its hash",
      () =>
        tamper((lines) => {
          changed(lines[4]!);
          lines[4]!.hash = Buffer.from(sha256(lines[4]!.text), "hex");
        }),
      /record 6 does not follow/,
    ],
    ["a removed record", () => tamper((lines) => lines.splice(4, 1)), /record 5 is missing/],
    ["two exchanged records", () => tamper((lines) => lines.push(...lines.splice(48, 1))), /record 49 /],
    ["a removed tail", () => tamper((lines) => lines.splice(45)), /record 46 is missing or moved/],
    [
      "a removed chain",
      () => prisma.$transaction([prisma.auditBatch.deleteMany(), prisma.auditChain.deleteMany()]),
      /chain .* is missing/,
    ],
    [
      "everything removed",
      () =>
        prisma.$transaction([
          prisma.auditBatch.deleteMany(),
          prisma.auditChain.deleteMany(),
          prisma.auditTree.deleteMany(),
          prisma.auditCheckpoint.deleteMany(),
        ]),
      /chain .* is missing/,
    ],
  ];
  it.each(tampering)("the file and an export show %s", async (_, tamper, problem) => {
    const { checkpointer, path, write } = newAuditProcess("one");
    await write(50);
    await checkpointer.close();
    await tamper();
    expect((await verifyDatabase(readCheckpointFile(path))).problems.join("; ")).toMatch(problem);
  });

  it("an export is whole though records are written while it is made", async () => {
    const { checkpointer, path, write } = newAuditProcess("one");
    await write(200);
    await expect.poll(countCovered).toBe(200);
    const elsewhere = [{ name: "file", checkpoints: readCheckpointFile(path) }];
    const lines: string[] = [];
    for await (const line of exportAudit(prisma)) {
      lines.push(line);
      if (line.startsWith("chain ")) await write(150);
    }
    await checkpointer.close();
    expect(await verifyExport(chunksOf(lines), { keys: auditKeys, elsewhere })).toMatchObject({
      problems: [],
      records: 200,
    });
  });

  it("a batch that is gone from the middle before a checkpoint covers it is missed, and what stands behind it takes no other's place", async () => {
    const log = newAuditLog();
    const entry = auditEntry({ accountId, time: new Date() });
    const [receipt] = await Promise.all(Array.from({ length: 130 }, () => log.append(entry)));
    const { chainId } = receipt!;
    const [first, second] = await prisma.auditBatch.findMany({ orderBy: { lastSequence: "asc" } });
    await prisma.auditBatch.deleteMany({ where: { lastSequence: second!.lastSequence } });

    const kept = splitHashes(first!.hashes);
    expect(await readRecordHashes(prisma, chainId, 0, 130)).toEqual(kept);
    expect(await readRecordHashes(prisma, chainId, kept.length, 130)).toEqual([]);
    expect((await verifyDatabase([])).problems.join("; ")).toContain(`record ${kept.length + 1} is missing or moved`);
    const { checkpointer, state } = newAuditProcess("one", false);
    await expect.poll(() => state.alarms).toBeGreaterThan(0);
    await checkpointer.close();
    expect(await countCovered()).toBe(kept.length);
  });

  it("alarms at once where the database lost what is under a checkpoint, or checkpoints that the file has", async () => {
    const { checkpointer, write, state } = newAuditProcess("one");
    await write(20);
    await expect.poll(countCovered).toBe(20);
    expect(state.alarms).toBe(0);
    await prisma.auditCheckpoint.deleteMany();
    await expect.poll(() => state.alarms).toBeGreaterThan(0);
    await checkpointer.close();
    const fresh = newAuditProcess("other", false);
    await prisma.auditChain.deleteMany();
    await expect.poll(() => fresh.state.alarms).toBeGreaterThan(0);
    await fresh.checkpointer.close();
  });
});
