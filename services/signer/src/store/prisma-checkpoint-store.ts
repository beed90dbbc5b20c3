import { eventRow } from "@countersign/events";
import type { Epoch } from "../audit/begin-epoch.ts";
import {
  type Checkpoint,
  CLOSE_CHAIN_AFTER_MS,
  checkpointHash,
  parseCheckpoint,
  type SignedCheckpoint,
} from "../audit/checkpoint.ts";
import type { CheckpointBasis, CheckpointStore, NewCheckpoint, StoredBatch } from "../audit/checkpoint-store.ts";
import { EMPTY_TREE, splitHashes } from "../audit/tree.ts";
import { archiveOf, readLastArchive } from "./audit-archives.ts";
import { Prisma, type PrismaClient } from "./generated/client.ts";

type Transaction = Prisma.TransactionClient;

const BATCHES_PER_PAGE = 1000;
const CHECKPOINTS_PER_PAGE = 5000;
/** A chain of millions that is under no checkpoint yet takes its time. */
const TIMEOUT_MS = 120_000;

/** Yields a chain's batches behind record `from`, those that end up to record `to`; without it all. */
async function* readBatches(
  client: Pick<Transaction, "auditBatch">,
  chainId: string,
  from: number,
  to?: number,
): AsyncGenerator<StoredBatch> {
  for (let after = BigInt(from); ; ) {
    const batches = await client.auditBatch.findMany({
      where: { chainId, lastSequence: { gt: after, ...(to !== undefined && { lte: BigInt(to) }) } },
      orderBy: { lastSequence: "asc" },
      select: { lastSequence: true, hashes: true, signature: true },
      take: BATCHES_PER_PAGE,
    });
    for (const { lastSequence, hashes, signature } of batches)
      yield { lastSequence: Number(lastSequence), hashes: splitHashes(hashes), signature };
    if (batches.length < BATCHES_PER_PAGE) return;
    after = batches.at(-1)!.lastSequence;
  }
}

/** Yields the checkpoints behind sequence `after`, up to `until`; without it all. */
export async function* readCheckpoints(
  client: Pick<Transaction, "auditCheckpoint">,
  after: number,
  until?: number,
): AsyncGenerator<SignedCheckpoint> {
  for (let behind = BigInt(after); ; ) {
    const rows = await client.auditCheckpoint.findMany({
      where: { sequence: { gt: behind, ...(until !== undefined && { lte: BigInt(until) }) } },
      orderBy: { sequence: "asc" },
      take: CHECKPOINTS_PER_PAGE,
    });
    for (const { text, signature } of rows) yield { text, signature };
    if (rows.length < CHECKPOINTS_PER_PAGE) return;
    behind = rows.at(-1)!.sequence;
  }
}

/** Returns the record hashes of a chain behind leaf `from`, up to leaf `to`. */
export async function readRecordHashes(
  client: Pick<Transaction, "auditBatch">,
  chainId: string,
  from: number,
  to: number,
): Promise<Buffer[]> {
  const hashes: Buffer[] = [];
  if (from >= to) return hashes;
  for await (const { lastSequence, hashes: some } of readBatches(client, chainId, from)) {
    const first = lastSequence - some.length;
    // A batch does not start where the one before ends: the caller finds hashes missing.
    if (first > from + hashes.length) break;
    hashes.push(...some.slice(from + hashes.length - first, to - first));
    if (from + hashes.length >= to) break;
  }
  return hashes;
}

/** The chains that are not closed. Those that a checkpoint covers have a tree. */
const OPEN = Prisma.sql`(SELECT * FROM audit_chain WHERE closed_in IS NULL) c FULL JOIN audit_tree t ON t.chain_id = c.id`;

interface ChainRow {
  id: string;
  certificate: string | null;
  certificate_signature: string | null;
  head_sequence: bigint | null;
  head_hash: string | null;
  size: bigint | null;
  hash: string | null;
  last_at: Date | null;
}

async function readBasis(tx: Transaction): Promise<CheckpointBasis> {
  const last = await tx.auditCheckpoint.findFirst({
    orderBy: { sequence: "desc" },
    select: { sequence: true, text: true, signature: true },
  });
  const rows = await tx.$queryRaw<ChainRow[]>`
    SELECT coalesce(c.id, t.chain_id) AS id, c.head_sequence, c.head_hash, c.certificate,
      c.certificate_signature, t.size, t.hash,
      coalesce((SELECT time FROM audit_batch b WHERE b.chain_id = c.id AND b.last_sequence = c.head_sequence),
        c.started_at) AS last_at
    FROM ${OPEN} ORDER BY 1`;
  return {
    last: last ? { ...last, sequence: Number(last.sequence) } : undefined,
    chains: rows.map((row) => ({
      chainId: row.id,
      head: row.head_hash === null ? undefined : { size: Number(row.head_sequence), hash: row.head_hash },
      covered: row.hash === null ? undefined : { size: Number(row.size), hash: row.hash },
      certificate: { text: row.certificate ?? "", signature: row.certificate_signature ?? "" },
      lastAt: row.last_at ?? new Date(0),
    })),
    async covered(chainId, size) {
      const tree = await tx.auditTree.findUniqueOrThrow({ where: { chainId } });
      const place = { chainId_size: { chainId, size: BigInt(size) } };
      const head = await tx.auditCheckpointHead.findUnique({ where: place });
      const checkpoint = head && (await tx.auditCheckpoint.findUnique({ where: { sequence: head.checkpoint } }));
      const frontier = splitHashes(tree.frontier);
      return { tree: { size: Number(tree.size), frontier }, checkpoint: checkpoint ?? undefined };
    },
    batches: (chainId, from, to) => readBatches(tx, chainId, from, to),
    async leaves(chainId, to) {
      const archive = archiveOf(await readLastArchive(tx));
      const { tree: archived = EMPTY_TREE } = archive?.heads.find((head) => head.chainId === chainId) ?? {};
      return { archived, hashes: await readRecordHashes(tx, chainId, archived.size, to) };
    },
  };
}

/** Marks the chains that a checkpoint closes; a constraint keeps their heads from then on. */
async function closeChains(tx: Transaction, { sequence, time, closed = [] }: Checkpoint): Promise<void> {
  const marked = await tx.$executeRaw`
    UPDATE audit_chain c SET closed_in = ${sequence}, closed_size = c.head_sequence
    FROM json_to_recordset(${JSON.stringify(closed)}::json) AS t("chainId" uuid, size bigint, hash text)
    WHERE c.id = t."chainId" AND c.head_sequence = t.size AND c.head_hash = t.hash AND c.closed_in IS NULL`;
  if (marked !== closed.length) throw new Error("a chain was written while it was being closed");
  await tx.auditTree.deleteMany({ where: { chainId: { in: closed.map(({ chainId }) => chainId) } } });
  // Begun by a process whose first commit failed.
  const startedAt = { lt: new Date(time.getTime() - CLOSE_CHAIN_AFTER_MS) };
  await tx.auditChain.deleteMany({ where: { closedIn: null, headSequence: 0, startedAt } });
}

/** Returns all checkpoints and chains behind the last archive, for the statement about a restore. */
export async function readForEpoch(tx: Transaction) {
  // No process may run; one that does waits, and finds its chain closed.
  await tx.$executeRaw`SELECT FROM audit_checkpoint_lock FOR UPDATE`;
  await tx.$executeRaw`SELECT FROM audit_chain WHERE closed_in IS NULL ORDER BY id FOR UPDATE`;
  const archive = await readLastArchive(tx);
  const archived = archiveOf(archive)?.sequence ?? 0;
  const database: SignedCheckpoint[] = [];
  for await (const each of readCheckpoints(tx, archived)) database.push(each);
  const chains = (await tx.auditChain.findMany({ where: { headSequence: { gt: 0 } } })).map((row) => ({
    ...{ chainId: row.id, size: Number(row.headSequence), hash: row.headHash, isClosed: row.closedIn !== null },
  }));
  return { archive, database, chains };
}

/**
 * Writes the checkpoints that the database lost, and the one that begins an epoch: every chain ends, so that
 * the processes that follow begin their own.
 */
export async function writeEpoch(
  tx: Transaction,
  { lost, checkpoint }: Epoch,
  signed: SignedCheckpoint,
): Promise<void> {
  for (const each of lost) {
    const { sequence, time } = parseCheckpoint(each.text)!;
    const row = { sequence: BigInt(sequence), time, hash: checkpointHash(each.text) };
    await tx.auditCheckpoint.create({ data: { ...row, ...each } });
  }
  await tx.auditChain.deleteMany({ where: { closedIn: null, headSequence: 0 } });
  await tx.$executeRaw`
    UPDATE audit_chain SET closed_in = ${BigInt(checkpoint.sequence)}, closed_size = head_sequence
    WHERE closed_in IS NULL`;
  await tx.auditTree.deleteMany();
  await writeCheckpoint(tx, { checkpoint: { ...checkpoint, closed: [] }, signed, grown: [] });
}

async function writeCheckpoint(tx: Transaction, { checkpoint, signed, grown }: NewCheckpoint): Promise<void> {
  const { time, keyVersion } = checkpoint;
  const sequence = BigInt(checkpoint.sequence);
  await tx.auditCheckpoint.create({ data: { sequence, time, hash: checkpointHash(signed.text), ...signed } });
  await tx.auditTreeBlock.createMany({
    data: grown.flatMap(({ head, blocks }) =>
      blocks.map(({ index, root }) => ({ chainId: head.chainId, index, root: Uint8Array.from(root) })),
    ),
  });
  await tx.auditCheckpointHead.createMany({
    data: grown.map(({ head }) => ({ chainId: head.chainId, size: BigInt(head.size), checkpoint: sequence })),
  });
  for (const { head, tree } of grown) {
    const covered = {
      size: BigInt(head.size),
      hash: head.hash,
      frontier: Uint8Array.from(Buffer.concat(tree.frontier)),
    };
    const { chainId } = head;
    await tx.auditTree.upsert({ where: { chainId }, create: { chainId, ...covered }, update: covered });
  }
  await closeChains(tx, checkpoint);
  const text = Buffer.from(signed.text);
  const auditCheckpoint = { text, signature: Buffer.from(signed.signature, "hex"), keyVersion };
  await tx.outbox.create({ data: eventRow("signer", "audit-checkpoint", { occurredAt: time }, { auditCheckpoint }) });
}

/**
 * Keeps checkpoints in Postgres: one process at a time makes the next one, the others leave it to that one.
 */
export function prismaCheckpointStore(prisma: PrismaClient): CheckpointStore {
  return {
    async write(build) {
      const [news] = await prisma.$queryRaw<{ some: boolean }[]>`
        SELECT EXISTS (SELECT 1 FROM ${OPEN}
          WHERE coalesce(c.head_sequence, 0) <> coalesce(t.size, 0)) AS some`;
      if (!news?.some) return true;
      return prisma.$transaction(
        async (tx) => {
          const lock = await tx.$queryRaw<object[]>`SELECT id FROM audit_checkpoint_lock FOR UPDATE SKIP LOCKED`;
          if (lock.length === 0) return false;
          const made = await build(await readBasis(tx));
          if (made) await writeCheckpoint(tx, made);
          return true;
        },
        { timeout: TIMEOUT_MS },
      );
    },
    async after(sequence, limit) {
      const rows = await prisma.auditCheckpoint.findMany({
        where: { sequence: { gt: BigInt(sequence) } },
        orderBy: { sequence: "asc" },
        take: limit,
      });
      return rows.map(({ text, signature }) => ({ text, signature }));
    },
    lastArchive: () => readLastArchive(prisma),
    async closedChains(chainId, limit) {
      const rows = await prisma.auditChain.findMany({
        where: { id: { gt: chainId }, closedIn: { not: null } },
        orderBy: { id: "asc" },
        select: { id: true, headSequence: true, headHash: true, closedIn: true },
        take: limit,
      });
      const sequence = { in: [...new Set(rows.map(({ closedIn }) => closedIn!))] };
      const checkpoints = await prisma.auditCheckpoint.findMany({ where: { sequence } });
      const bySequence = new Map(checkpoints.map((each) => [each.sequence, each]));
      return rows.map(({ id, headSequence, headHash, closedIn }) => ({
        chainId: id,
        size: Number(headSequence),
        hash: headHash,
        checkpoint: bySequence.get(closedIn!),
      }));
    },
  };
}
