import { uuidv7 } from "@countersign/core";
import { createLogger } from "@countersign/runtime";
import { describe, expect, it } from "vitest";
import { createAuditLog } from "../audit/audit-log.ts";
import { type AuditHead, AuditHeadMovedError } from "../audit/audit-store.ts";
import { type AuditEntry, type AuditRecord, chainRecords, genesisHash, sha256 } from "../audit/record.ts";
import { auditEntry, newWriter, signedBatch } from "../testing/audit-fixture.ts";
import { clock, postgres, prisma } from "../testing/store-fixture.ts";
import { storedRecords } from "../testing/stored-records.ts";
import { verifyChain } from "../testing/verify-chain.ts";
import { postgresAuditStore } from "./postgres-audit-store.ts";
import { prismaAuditReader } from "./prisma-audit-reader.ts";

const NO_CHARGE = { counted: { minute: new Date(0), counts: new Map(), limit: 0 }, reservations: [] };

const entry = (change: Partial<AuditEntry> = {}) =>
  auditEntry({ time: clock.now(), accountId: uuidv7(clock), ...change });

async function storedChain(chainId: string) {
  const chain = await prisma.auditChain.findUniqueOrThrow({ where: { id: chainId } });
  const records = (await storedRecords(prisma)).filter((record) => record.chainId === chainId);
  return { records, head: { chainId, sequence: chain.headSequence, hash: chain.headHash } };
}

describe("the audit log on Postgres", () => {
  const logger = createLogger({ name: "test", level: "silent" });
  const writer = newWriter();
  const newStore = () => postgresAuditStore(postgres);
  const newLog = (signaturesPerMinute = 10_000) =>
    createAuditLog({ store: newStore(), writer, clock, logger, signaturesPerMinute });

  it("200 records at once through two instances are two whole chains", async () => {
    const logs = [newLog(), newLog()];
    const receipts = await Promise.all(Array.from({ length: 200 }, (_, i) => logs[i % 2]!.append(entry())));
    const chainIds = [...new Set(receipts.map(({ chainId }) => chainId))];
    expect(chainIds).toHaveLength(2);
    const stored = new Map<string, AuditRecord>();
    for (const chainId of chainIds) {
      const { records, head } = await storedChain(chainId);
      for (const record of records) stored.set(record.hash, record);
      expect(records).toHaveLength(100);
      expect(verifyChain(records, head)).toBe("");
      expect(verifyChain(records.slice(0, -1), head)).not.toBe("");
    }
    for (const { chainId, sequence, hash } of receipts) {
      expect(stored.get(hash)).toMatchObject({ chainId, sequence });
      const text = await prismaAuditReader(prisma).recordText(chainId, sequence);
      expect(text).toBe(stored.get(hash)!.text);
      expect(sha256(text!)).toBe(hash);
    }
  });

  it("the limit holds over two instances", async () => {
    const accountId = uuidv7(clock);
    const logs = [newLog(10), newLog(10)];
    const asked = Array.from({ length: 30 }, (_, i) => logs[i % 2]!.append(entry({ accountId })));
    const results = await Promise.allSettled(asked);
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(10);
    const signed = (record: AuditRecord) => record.accountId === accountId && record.verdict === "signed";
    expect((await storedRecords(prisma)).filter(signed)).toHaveLength(10);
    // Also of those that come one after the other.
    const slow = entry();
    for (let i = 0; i < 10; i++) await logs[i % 2]!.append(slow);
    await expect(logs[0]!.append(slow)).rejects.toMatchObject({ reason: "RateLimited" });
  });

  it("a head that has moved takes no record", async () => {
    const chainId = uuidv7(clock);
    const store = newStore();
    const first = { chainId, sequence: 0n, hash: genesisHash(chainId) };
    await store.startChain(first, clock.now(), writer.certificate);
    const commit = () => store.commit(first, signedBatch(writer, first, chainRecords(first, [entry()])), NO_CHARGE);
    const results = await Promise.allSettled([commit(), commit()]);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const { records, head } = await storedChain(chainId);
    expect(verifyChain(records, head)).toBe("");
  });

  it("a head of another hash takes no record, also at the same sequence", async () => {
    const { chainId, sequence, hash } = await newLog().append(entry());
    const commit = (head: AuditHead) =>
      newStore().commit(head, signedBatch(writer, head, chainRecords(head, [entry()])), NO_CHARGE);
    for (const head of [
      { chainId, sequence, hash: genesisHash("x") },
      { chainId, sequence: sequence + 1n, hash },
    ])
      await expect(commit(head)).rejects.toThrow(AuditHeadMovedError);
    expect((await storedChain(chainId)).records).toHaveLength(1);
    await expect(commit({ chainId, sequence, hash })).resolves.toBe(true);
  });

  it("a place without a record has no text", async () => {
    const { chainId, sequence } = await newLog().append(entry());
    const reader = prismaAuditReader(prisma);
    for (const other of [0n, sequence + 1n]) expect(await reader.recordText(chainId, other)).toBeUndefined();
    expect(await reader.recordText(uuidv7(clock), sequence)).toBeUndefined();
  });
});
