import { uuidv7 } from "@countersign/core";
import { describe, expect, it } from "vitest";
import { checkpointHash, checkpointText, parseCheckpoint } from "../audit/checkpoint.ts";
import { type AuditEntry, type AuditRecord, chainRecords, genesisHash, sha256 } from "../audit/record.ts";
import { EMPTY_TREE, growTree, treeRoot } from "../audit/tree.ts";
import { auditEntry } from "../testing/audit-fixture.ts";
import { countCovered, newAuditProcess, prisma, readCheckpointFile, verifyDatabase } from "../testing/audit-process.ts";

// An adversary who can write to the signer's database, but has neither the vault's keys nor a signer process.

const joined = (records: readonly AuditRecord[]) => ({
  hashes: Uint8Array.from(Buffer.from(records.map(({ hash }) => hash).join(""), "hex")),
  texts: records.map(({ text }) => text).join("\n"),
});
const entries = (count: number, change: Partial<AuditEntry> = {}): AuditEntry[] =>
  Array.from({ length: count }, () => auditEntry({ time: new Date(), caller: "forged", ...change }));

/** Returns the chain that the honest process wrote, and its batches. */
async function honestChain() {
  const batch = await prisma.auditBatch.findFirstOrThrow({ orderBy: { lastSequence: "desc" } });
  const chain = await prisma.auditChain.findUniqueOrThrow({ where: { id: batch.chainId } });
  return { batch, chain, head: { chainId: chain.id, sequence: chain.headSequence, hash: chain.headHash } };
}

/** Writes a chain of forged records; every column that is no part of them is copied from the honest chain. */
async function insertChain(): Promise<string> {
  const { batch, chain } = await honestChain();
  const chainId = uuidv7({ now: () => new Date() });
  const records = chainRecords({ chainId, sequence: 0n, hash: genesisHash(chainId) }, entries(3));
  const { sequence, hash } = records.at(-1)!;
  await prisma.auditChain.create({ data: { ...chain, id: chainId, headSequence: sequence, headHash: hash } });
  await prisma.auditBatch.create({ data: { ...batch, chainId, lastSequence: sequence, ...joined(records) } });
  return chainId;
}

async function appendBatch(): Promise<string> {
  const { batch, head } = await honestChain();
  const records = chainRecords(head, entries(2));
  const { chainId, sequence, hash } = records.at(-1)!;
  await prisma.auditBatch.create({ data: { ...batch, lastSequence: sequence, ...joined(records) } });
  await prisma.auditChain.update({ where: { id: chainId }, data: { headSequence: sequence, headHash: hash } });
  return chainId;
}

/** Writes a genuine batch of the honest chain as the first one of a new chain. */
async function replayBatch(): Promise<string> {
  const { batch, chain } = await honestChain();
  const chainId = uuidv7({ now: () => new Date() });
  await prisma.auditChain.create({ data: { ...chain, id: chainId } });
  await prisma.auditBatch.create({ data: { ...batch, chainId } });
  return chainId;
}

/** Writes a genuine batch once more, behind the last one of its own chain. */
async function repeatBatch(): Promise<string> {
  const { batch, chain } = await honestChain();
  const lastSequence = batch.lastSequence + BigInt(batch.hashes.length / 32);
  await prisma.auditBatch.create({ data: { ...batch, lastSequence } });
  await prisma.auditChain.update({ where: { id: chain.id }, data: { headSequence: lastSequence } });
  return chain.id;
}

describe("records that the signer did not write", () => {
  const forgeries = [
    ["a new chain", insertChain, 0],
    ["a batch behind the honest ones", appendBatch, 5],
    ["a genuine batch in another chain", replayBatch, 0],
    ["a genuine batch at another position", repeatBatch, 5],
  ] as const;
  it.each(forgeries)("%s: under no checkpoint, an alarm, and the export is not whole", async (_, forge, honest) => {
    const one = newAuditProcess("one");
    await one.write(5);
    await expect.poll(countCovered).toBe(5);
    const chainId = await forge();
    await expect.poll(() => one.state.alarms).toBeGreaterThan(0);
    // Honest chains go on.
    const other = newAuditProcess("other");
    await other.write(7);
    await expect.poll(countCovered).toBe(12);
    await Promise.all([one.checkpointer.close(), other.checkpointer.close()]);
    const forged = await prisma.auditTree.findUnique({ where: { chainId } });
    expect(Number(forged?.size ?? 0)).toBe(honest);
    const { problems } = await verifyDatabase(readCheckpointFile(one.path));
    expect(problems.join("; ")).toContain(`chain ${chainId}`);
  });

  it("changed times of a batch that no checkpoint covers yet are found by the checkpointer", async () => {
    const one = newAuditProcess("one", false);
    await one.write(1);
    await one.checkpointer.close();
    const late = newAuditProcess("late", false);
    await late.checkpointer.close();
    await late.write(3);
    const { batch, chain } = await honestChain();
    const records = chainRecords(
      { chainId: chain.id, sequence: 0n, hash: genesisHash(chain.id) },
      entries(3, { time: new Date("2020-01-01T00:00:00Z") }),
    );
    const where = { chainId_lastSequence: { chainId: batch.chainId, lastSequence: batch.lastSequence } };
    await prisma.auditBatch.update({ where, data: joined(records) });
    await prisma.auditChain.update({ where: { id: chain.id }, data: { headHash: records.at(-1)!.hash } });
    const other = newAuditProcess("other", false);
    await expect.poll(() => other.state.alarms).toBeGreaterThan(0);
    await other.checkpointer.close();
    expect(await countCovered()).toBe(1);
    expect((await verifyDatabase()).problems.join("; ")).toContain(chain.id);
  });

  it("a chain whose head was moved is given up with an alarm", async () => {
    const one = newAuditProcess("one", false);
    await one.write(2);
    await expect.poll(countCovered).toBe(2);
    await one.checkpointer.close();
    await prisma.auditChain.updateMany({ data: { headSequence: 1n } });
    await expect(one.write(1)).rejects.toMatchObject({ reason: "Unavailable" });
    expect(one.state.alarms).toBe(1);
    await one.write(1);
    expect(await prisma.auditChain.count()).toBe(2);
  });

  it("heads out of all bounds keep no other chain from a checkpoint", async () => {
    const one = newAuditProcess("one", false);
    await one.write(2);
    await expect.poll(countCovered).toBe(2);
    const { chain } = await honestChain();
    for (const headSequence of [-5n, 2n ** 62n, 9n])
      await prisma.auditChain.create({ data: { ...chain, id: uuidv7({ now: () => new Date() }), headSequence } });
    await one.write(2);
    await expect.poll(countCovered).toBe(4);
    expect(one.state.alarms).toBeGreaterThan(0);
    await one.checkpointer.close();
  });

  it("a batch beside the honest ones keeps none of them from a checkpoint", async () => {
    const one = newAuditProcess("one", false);
    await one.write(4);
    await expect.poll(countCovered).toBe(4);
    const { batch, head } = await honestChain();
    const records = chainRecords(head, entries(1));
    await prisma.auditBatch.create({ data: { ...batch, lastSequence: 5n, ...joined(records) } });
    await one.write(3);
    await expect.poll(countCovered).toBe(7);
    expect(one.state.alarms).toBeGreaterThan(0);
    await one.checkpointer.close();
  });
});

describe("the checkpointer's own rows", () => {
  const otherHashes = (count: number) => Array.from({ length: count }, (_, i) => Buffer.from(sha256(String(i)), "hex"));

  it("a changed tree is not what the next root is made from", async () => {
    const one = newAuditProcess("one");
    await one.write(5);
    await expect.poll(countCovered).toBe(5);
    const { tree } = growTree(EMPTY_TREE, otherHashes(5));
    await prisma.auditTree.updateMany({ data: { frontier: Uint8Array.from(Buffer.concat(tree.frontier)) } });
    await one.write(2);
    await expect.poll(countCovered).toBe(7);
    await one.checkpointer.close();
    expect(one.state.alarms).toBeGreaterThan(0);
    expect((await verifyDatabase(readCheckpointFile(one.path))).problems).toEqual([]);
  });

  it("a lock that is held keeps checkpoints from being made, with an alarm", async () => {
    const held = prisma.$transaction(async (tx) => {
      await tx.$queryRaw`SELECT id FROM audit_checkpoint_lock FOR UPDATE`;
      const one = newAuditProcess("one", false, { stalledMs: 200 });
      await one.write(1);
      await expect.poll(() => one.state.alarms, { timeout: 4000 }).toBeGreaterThan(0);
      return one;
    });
    const { checkpointer } = await held;
    await expect.poll(countCovered).toBe(1);
    await checkpointer.close();
  });

  it("a checkpoint that the audit key has not signed is continued by none", async () => {
    const one = newAuditProcess("one");
    await one.write(5);
    await expect.poll(countCovered).toBe(5);
    const last = await prisma.auditCheckpoint.findFirstOrThrow({ orderBy: { sequence: "desc" } });
    const tree5 = await prisma.auditTree.findFirstOrThrow();
    const { tree } = growTree(EMPTY_TREE, otherHashes(6));
    const checkpoint = parseCheckpoint(last.text)!;
    const hash = sha256("5");
    const head = { ...checkpoint.heads[0]!, size: 6, hash, root: treeRoot(tree).toString("hex") };
    const sequence = checkpoint.sequence + 1;
    const text = checkpointText({ ...checkpoint, sequence, previousHash: last.hash, heads: [head] });
    const data = { ...last, sequence: BigInt(sequence), text, hash: checkpointHash(text) };
    await prisma.auditCheckpoint.create({ data });
    const frontier = Uint8Array.from(Buffer.concat(tree.frontier));
    await prisma.auditTree.updateMany({ data: { size: 6n, hash, frontier } });
    await one.write(3);
    await expect.poll(() => one.state.alarms).toBeGreaterThan(1);
    expect(await prisma.auditCheckpoint.count({ where: { sequence: { gt: BigInt(sequence) } } })).toBe(0);
    // Nor is it in the file, which goes on once the forged rows are gone.
    expect(readCheckpointFile(one.path)).toHaveLength(checkpoint.sequence);
    await prisma.auditCheckpoint.delete({ where: { sequence: BigInt(sequence) } });
    await prisma.auditTree.update({ where: { chainId: tree5.chainId }, data: tree5 });
    await expect.poll(countCovered).toBe(8);
    await one.checkpointer.close();
    expect((await verifyDatabase(readCheckpointFile(one.path))).problems).toEqual([]);
    expect(readCheckpointFile(one.path).length).toBeGreaterThan(checkpoint.sequence);
  });
});
