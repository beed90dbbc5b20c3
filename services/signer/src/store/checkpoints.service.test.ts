import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestDatabase, type TestDatabase } from "@countersign/dev/testing/postgres.ts";
import { signMessage } from "@countersign/keys/node";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { createLogger, createPrismaAdapter, systemClock } from "@countersign/service-kit";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AuditReceipt, createAuditLog } from "../audit/audit-log.ts";
import type { SignedCheckpoint } from "../audit/checkpoint.ts";
import { openCheckpointFile, parseCheckpointLine } from "../audit/checkpoint-file.ts";
import { startCheckpointer } from "../audit/checkpointer.ts";
import { sha256 } from "../audit/record.ts";
import { verifyExport } from "../audit/verify-export.ts";
import { verifyProof } from "../audit/verify-proof.ts";
import { getAuditProof } from "../domain/get-audit-proof.ts";
import { auditEntry, auditKey, auditKeys, chunksOf } from "../testing/audit-fixture.ts";
import { PrismaClient } from "./generated/client.ts";
import { exportAudit, prismaAuditReader } from "./prisma-audit-reader.ts";
import { prismaAuditStore } from "./prisma-audit-store.ts";
import { prismaCheckpointStore, readRecordHashes, splitHashes } from "./prisma-checkpoint-store.ts";

const logger = createLogger({ name: "test", level: "silent" });
const accountId = "01900000-0000-7000-8000-000000000001";
let database: TestDatabase;
let prisma: PrismaClient;
let directory: string;
beforeEach(async () => {
  database = await createTestDatabase("signer");
  prisma = new PrismaClient({ adapter: createPrismaAdapter(database.url, 10) });
  directory = mkdtempSync(join(tmpdir(), "countersign-checkpoints-"));
});
afterEach(async () => {
  await prisma.$disconnect();
  await database.drop();
  rmSync(directory, { recursive: true, force: true });
});

/** One signer process: a log, and a checkpointer with a file. */
function newProcess(name: string, file = true) {
  const log = createAuditLog({
    store: prismaAuditStore(prisma),
    clock: systemClock,
    logger,
    signaturesPerMinute: 1_000_000,
  });
  const path = join(directory, name);
  const state = { alarms: 0 };
  const checkpointer = startCheckpointer({
    store: prismaCheckpointStore(prisma),
    signer: { version: () => 1, sign: async (text) => signMessage(auditKey.privateKey, text, "sha256") },
    ownHead: log.head,
    ...(file && { file: openCheckpointFile(path) }),
    intervalMs: 100,
    onAlarm() {
      state.alarms += 1;
    },
    clock: systemClock,
    logger,
  });
  const write = (count: number) =>
    Promise.all(Array.from({ length: count }, () => log.append(auditEntry({ accountId }))));
  return { checkpointer, path, state, write };
}

const readFile = (path: string) =>
  readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => parseCheckpointLine(line)!);
async function verify(elsewhere: SignedCheckpoint[]) {
  const lines: string[] = [];
  for await (const line of exportAudit(prisma)) lines.push(line);
  return verifyExport(chunksOf(lines), { keys: auditKeys, elsewhere: [{ name: "file", checkpoints: elsewhere }] });
}
const covered = () => prisma.auditTree.findMany().then((all) => all.reduce((sum, { size }) => sum + Number(size), 0));

describe("checkpoints on Postgres", () => {
  it("cover all chains of all processes within moments; each process has them in its file; every record is proven", async () => {
    const processes = [newProcess("one"), newProcess("two")];
    const receipts: AuditReceipt[] = [];
    for (const count of [300, 900, 1]) {
      for (const { write } of processes) receipts.push(...(await write(count)));
      await expect.poll(covered, { timeout: 10_000 }).toBe(receipts.length);
    }
    for (const { checkpointer } of processes) await checkpointer.close();
    const stored = await prisma.auditCheckpoint.findMany({ orderBy: { sequence: "asc" } });
    for (const { path, state } of processes) {
      expect(readFile(path)).toEqual(stored.map(({ text, signature }) => ({ text, signature })));
      expect(state.alarms).toBe(0);
    }
    expect(await verify(readFile(processes[0]!.path))).toMatchObject({
      problems: [],
      records: 2402,
      chains: 2,
      uncovered: 0,
    });

    const prove = getAuditProof({ audit: prismaAuditReader(prisma) });
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
    }
    await expect(prove({ ...receipts[0]!, hash: "0".repeat(64) })).rejects.toMatchObject({ reason: "InvalidRequest" });
  });

  it("are published through the outbox, in the transaction that writes them", async () => {
    const { checkpointer, write } = newProcess("one");
    await write(3);
    await checkpointer.close();
    const stored = await prisma.auditCheckpoint.findMany();
    const rows = await prisma.outbox.findMany({ where: { subject: "cs.v1.signer.all.audit-checkpoint" } });
    const events = rows.map(({ payload }) => Event.decode(payload).auditCheckpoint!);
    expect(events.map(({ text }) => text.toString()).sort()).toEqual(stored.map(({ text }) => text).sort());
    expect(events[0]).toMatchObject({ keyVersion: 1, signature: Buffer.from(stored[0]!.signature, "hex") });
  });

  it("nothing new, no checkpoint; a record without one yet is told to come again", async () => {
    const receipts = await createAuditLog({
      store: prismaAuditStore(prisma),
      clock: systemClock,
      logger,
      signaturesPerMinute: 10,
    }).append(auditEntry({ accountId }));
    const prove = getAuditProof({ audit: prismaAuditReader(prisma) });
    await expect(prove(receipts)).rejects.toMatchObject({ reason: "Unavailable", retryAfterSeconds: 1 });
    // What a process left uncovered when it died, the next one covers.
    const { checkpointer } = newProcess("one");
    await expect.poll(covered, { timeout: 10_000 }).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 500));
    await checkpointer.close();
    expect(await prisma.auditCheckpoint.count()).toBe(1);
    await expect(prove(receipts)).resolves.toMatchObject({ path: [] });
  });

  it("a file with half a line goes on behind its last whole one; a foreign line stops the start", async () => {
    const one = newProcess("one");
    await one.write(2);
    await one.checkpointer.close();
    const before = readFileSync(one.path, "utf8");
    appendFileSync(one.path, before.slice(0, 40));
    const again = newProcess("one");
    await again.write(2);
    await again.checkpointer.close();
    expect(readFileSync(one.path, "utf8").startsWith(before)).toBe(true);
    expect(await verify(readFile(one.path))).toMatchObject({ problems: [], uncovered: 0 });
    writeFileSync(one.path, "hello\n");
    expect(() => openCheckpointFile(one.path)).toThrow("no checkpoint");
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
    ["a removed tail", () => tamper((lines) => lines.splice(45)), /records 46 to 50 are missing/],
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
    const { checkpointer, path, write } = newProcess("one");
    await write(50);
    await checkpointer.close();
    await tamper();
    expect((await verify(readFile(path))).problems.join("; ")).toMatch(problem);
  });

  it("an export is whole though records are written while it is made", async () => {
    const { checkpointer, path, write } = newProcess("one");
    await write(200);
    await expect.poll(covered, { timeout: 10_000 }).toBe(200);
    const elsewhere = [{ name: "file", checkpoints: readFile(path) }];
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
    const store = prismaAuditStore(prisma);
    const log = createAuditLog({ store, clock: systemClock, logger, signaturesPerMinute: 1_000_000 });
    const [receipt] = await Promise.all(Array.from({ length: 130 }, () => log.append(auditEntry({ accountId }))));
    const { chainId } = receipt!;
    const [first, second] = await prisma.auditBatch.findMany({ orderBy: { lastSequence: "asc" } });
    await prisma.auditBatch.deleteMany({ where: { lastSequence: second!.lastSequence } });

    const kept = splitHashes(first!.hashes);
    expect(await readRecordHashes(prisma, chainId, 0, 130)).toEqual(kept);
    expect(await readRecordHashes(prisma, chainId, kept.length, 130)).toEqual([]);
    expect((await verify([])).problems.join("; ")).toContain(`record ${kept.length + 1} is missing or moved`);
    const { checkpointer, state } = newProcess("one", false);
    await expect.poll(() => state.alarms, { timeout: 10_000 }).toBeGreaterThan(0);
    await checkpointer.close();
    expect(await covered()).toBe(0);
  });

  it("alarms at once where the database lost what is under a checkpoint, or checkpoints that the file has", async () => {
    const { checkpointer, write, state } = newProcess("one");
    await write(20);
    await expect.poll(covered, { timeout: 10_000 }).toBe(20);
    expect(state.alarms).toBe(0);
    await prisma.auditCheckpoint.deleteMany();
    await expect.poll(() => state.alarms, { timeout: 10_000 }).toBeGreaterThan(0);
    await checkpointer.close();
    const fresh = newProcess("other", false);
    await prisma.auditChain.deleteMany();
    await expect.poll(() => fresh.state.alarms, { timeout: 10_000 }).toBeGreaterThan(0);
    await fresh.checkpointer.close();
  });
});
