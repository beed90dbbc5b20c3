import { EXPORT_FORMAT } from "../audit/verify-export.ts";
import type { AuditReader } from "../domain/get-audit-proof.ts";
import type { AuditBatch, PrismaClient } from "./generated/client.ts";
import { readRecordHashes, splitHashes } from "./prisma-checkpoint-store.ts";

const textsOf = ({ texts }: Pick<AuditBatch, "texts">): string[] => texts.split("\n");

/** Reads audit chains in Postgres, to prove records of them. */
export function prismaAuditReader(prisma: PrismaClient): AuditReader {
  return {
    async recordText(chainId, sequence) {
      const where = { chainId, lastSequence: { gte: sequence } };
      const batch = await prisma.auditBatch.findFirst({ where, orderBy: { lastSequence: "asc" } });
      return batch ? textsOf(batch).at(Number(sequence - batch.lastSequence) - 1) : undefined;
    },

    async covering(chainId, sequence) {
      const head = await prisma.auditCheckpointHead.findFirst({
        where: { chainId, size: { gte: sequence } },
        orderBy: { size: "asc" },
      });
      const checkpoint = head && (await prisma.auditCheckpoint.findUnique({ where: { sequence: head.checkpoint } }));
      return checkpoint ? { checkpoint, size: Number(head.size) } : undefined;
    },

    tree: (chainId) => ({
      recordHashes: (from, to) => readRecordHashes(prisma, chainId, from, to),
      async blockRoots(count) {
        const where = { chainId, index: { lt: count } };
        const rows = await prisma.auditTreeBlock.findMany({ where, orderBy: { index: "asc" } });
        return rows.map(({ root }) => Buffer.from(root));
      },
    }),
  };
}

const CHECKPOINTS_PER_PAGE = 5000;
const BATCHES_PER_PAGE = 100;

/** Yields the lines that audit/verify-export.ts reads, without those that are written meanwhile. */
export async function* exportAudit(prisma: PrismaClient): AsyncGenerator<string> {
  yield EXPORT_FORMAT;
  // Checkpoints first, so that the records read later are all that they cover.
  for (let after = 0n; ; ) {
    const rows = await prisma.auditCheckpoint.findMany({
      where: { sequence: { gt: after } },
      orderBy: { sequence: "asc" },
      take: CHECKPOINTS_PER_PAGE,
    });
    for (const { text, signature } of rows) yield `checkpoint ${JSON.stringify({ text, signature })}`;
    if (rows.length < CHECKPOINTS_PER_PAGE) break;
    after = rows.at(-1)!.sequence;
  }
  const chains = await prisma.auditChain.findMany({ orderBy: { id: "asc" } });
  for (const { id: chainId, headSequence, headHash, certificate: text, certificateSignature: signature } of chains) {
    yield `chain ${chainId} ${headSequence} ${headHash} ${JSON.stringify({ text, signature })}`;
    for (let after = 0n; ; ) {
      const where = { chainId, lastSequence: { gt: after, lte: headSequence } };
      const batches = await prisma.auditBatch.findMany({
        where,
        orderBy: { lastSequence: "asc" },
        take: BATCHES_PER_PAGE,
      });
      for (const batch of batches) {
        const hashes = splitHashes(batch.hashes);
        for (const [i, text] of textsOf(batch).entries()) yield `${hashes[i]?.toString("hex")} ${text}`;
        yield `batch ${batch.lastSequence} ${batch.time.toISOString()} ${Buffer.from(batch.signature).toString("hex")}`;
      }
      if (batches.length < BATCHES_PER_PAGE) break;
      after = batches.at(-1)!.lastSequence;
    }
  }
  yield "end";
}
