import { expect, it } from "vitest";
import { checkpointText, parseCheckpoint } from "../audit/checkpoint.ts";
import { verifyProof } from "../audit/verify-proof.ts";
import { getAuditProof } from "../domain/get-audit-proof.ts";
import { auditEntry, auditKeys } from "../testing/audit-fixture.ts";
import {
  accountId,
  countCovered,
  newAuditProcess,
  prisma,
  readCheckpointFile,
  verifyDatabase,
} from "../testing/audit-process.ts";
import { prismaAuditReader } from "./prisma-audit-reader.ts";
import { prismaCheckpointStore } from "./prisma-checkpoint-store.ts";

const HOUR_MS = 3_600_000;

/** A process whose clock can be moved. */
function newMovedProcess(name: string) {
  let ahead = 0;
  const clock = { now: () => new Date(Date.now() + ahead) };
  const moveOn = (ms: number) => {
    ahead += ms;
  };
  return { ...newAuditProcess(name, true, { clock }), moveOn };
}

const lastCheckpoint = async () => {
  const { text } = await prisma.auditCheckpoint.findFirstOrThrow({ orderBy: { sequence: "desc" } });
  return parseCheckpoint(text)!;
};
const isCovered = (count: number) => expect.poll(countCovered).toBe(count);

/** A process that left a chain of 20 records, which was closed, and has written 3 into another one. */
async function closeOne() {
  const one = newMovedProcess("one");
  const [receipt] = await one.write(20);
  await isCovered(20);
  one.moveOn(1.1 * HOUR_MS);
  await one.write(3);
  await isCovered(3);
  return { one, receipt: receipt!, closedId: receipt!.chainId };
}

it("a chain that is quiet for an hour is closed once; its process goes on with another one; every record stays proven", async () => {
  const { one, receipt, closedId } = await closeOne();
  expect(await lastCheckpoint()).toMatchObject({ chainCount: 1, closed: [{ chainId: closedId, size: 20 }] });
  await one.write(2);
  await isCovered(5);
  expect(await lastCheckpoint()).toMatchObject({ chainCount: 1, closed: [] });
  await one.checkpointer.close();
  expect(one.state.alarms).toBe(0);
  expect(await verifyDatabase(readCheckpointFile(one.path))).toMatchObject({ problems: [], records: 25, uncovered: 0 });
  const { text, checkpoint, path } = await getAuditProof(prismaAuditReader(prisma))(receipt);
  const proof = { record: text, checkpoint: checkpoint.text, checkpointSignature: checkpoint.signature, path };
  expect(verifyProof(proof, auditKeys)).toMatchObject({ chainId: closedId, sequence: Number(receipt.sequence) });
});

it("a process that was stopped for hours writes nothing into its closed chain", async () => {
  const stopped = newMovedProcess("stopped");
  await stopped.write(4);
  await isCovered(4);
  await stopped.checkpointer.close();
  const other = newMovedProcess("other");
  other.moveOn(1.1 * HOUR_MS);
  await other.write(1);
  await isCovered(1);
  await expect(stopped.write(1)).rejects.toMatchObject({ reason: "Unavailable" });
  await stopped.write(1);
  await other.checkpointer.close();
  const chains = await prisma.auditChain.findMany({ orderBy: { headSequence: "asc" } });
  expect(chains.map(({ headSequence, closedIn }) => [Number(headSequence), closedIn !== null])).toEqual([
    [1, false],
    [1, false],
    [4, true],
  ]);
});

it("a chain without records is deleted after an hour, and not while its process begins it", async () => {
  const one = newMovedProcess("one");
  await one.write(1);
  await isCovered(1);
  const chain = await prisma.auditChain.findFirstOrThrow();
  const [young, old] = [accountId, accountId.replace(/.$/, "2")];
  for (const [id, ms] of [[young, 0] as const, [old, 1.1 * HOUR_MS] as const]) {
    const startedAt = new Date(Date.now() - ms);
    await prisma.auditChain.create({ data: { ...chain, id, headSequence: 0n, startedAt } });
  }
  await one.write(1);
  await isCovered(2);
  const left = await prisma.auditChain.findMany({ where: { headSequence: 0n } });
  expect(left.map(({ id }) => id)).toEqual([young]);
  await one.checkpointer.close();
});

it("a checkpoint that would close a chain that is written meanwhile is not made", async () => {
  const one = newMovedProcess("one");
  await one.write(4);
  await isCovered(4);
  await one.checkpointer.close();
  await one.write(1);
  const before = await lastCheckpoint();
  const made = prismaCheckpointStore(prisma).write(async ({ chains }) => {
    const closed = chains.map(({ chainId, head }) => ({ chainId, ...head! }));
    await one.log.append(auditEntry({ accountId, time: new Date() }));
    const checkpoint = { ...before, sequence: before.sequence + 1, heads: [], closed };
    return { checkpoint, signed: { text: checkpointText(checkpoint), signature: "" }, grown: [] };
  });
  await expect(made).rejects.toThrow("written while it was being closed");
  expect((await lastCheckpoint()).sequence).toBe(before.sequence);
});

it("a closed chain that is opened again in the database is under no further checkpoint, with an alarm", async () => {
  const { one, closedId } = await closeOne();
  expect(one.state.alarms).toBe(0);
  await prisma.auditChain.update({ where: { id: closedId }, data: { closedIn: null, closedSize: null } });
  await one.write(1);
  await isCovered(4);
  await expect.poll(() => one.state.alarms).toBeGreaterThan(0);
  await one.checkpointer.close();
  expect((await verifyDatabase(readCheckpointFile(one.path))).problems).toEqual([]);
});

it("an open chain that is marked as closed raises an alarm, and no checkpoint is made without it", async () => {
  const one = newMovedProcess("one");
  const [receipt] = await one.write(4);
  await isCovered(4);
  const { sequence } = await lastCheckpoint();
  const where = { chainId: receipt!.chainId };
  const tree = await prisma.auditTree.findUniqueOrThrow({ where });
  const data = { closedIn: BigInt(sequence), closedSize: 4n };
  await prisma.$transaction([
    prisma.auditChain.update({ where: { id: where.chainId }, data }),
    prisma.auditTree.delete({ where }),
  ]);
  const other = newMovedProcess("other");
  await other.write(1);
  await expect.poll(() => other.state.alarms).toBeGreaterThan(0);
  expect((await lastCheckpoint()).sequence).toBe(sequence);
  expect(tree.size).toBe(4n);
  for (const { checkpointer } of [one, other]) await checkpointer.close();
});

it("a closed chain with another head raises an alarm", async () => {
  const { one, closedId } = await closeOne();
  await prisma.auditChain.update({ where: { id: closedId }, data: { headSequence: 21, closedSize: 21 } });
  await one.checkpointer.close();
  const other = newMovedProcess("other");
  await expect.poll(() => other.state.alarms).toBeGreaterThan(0);
  await other.checkpointer.close();
  expect((await verifyDatabase(readCheckpointFile(one.path))).problems.join()).toContain(
    "records 21 to 21 are missing",
  );
});
