import { AppError } from "@countersign/core";
import { type ChainEnd, parseCheckpoint } from "../audit/checkpoint.ts";
import { EXPORT_FORMAT } from "../audit/export-lines.ts";
import { splitHashes } from "../audit/tree.ts";
import type { AuditReader } from "../domain/get-audit-proof.ts";
import { archiveOf, readLastArchive } from "./audit-archives.ts";
import type { AuditBatch, PrismaClient } from "./generated/client.ts";
import { readCheckpoints, readRecordHashes } from "./prisma-checkpoint-store.ts";

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

const BATCHES_PER_PAGE = 100;

/**
 * Yields the lines that audit/verify-file.ts reads, without those that are written meanwhile: behind the
 * last archive, and only those under checkpoint `until` where it is given.
 * Errors: Unavailable where that part was taken out of the database meanwhile.
 */
export async function* exportAudit(prisma: PrismaClient, until?: number): AsyncGenerator<string> {
  const signed = await readLastArchive(prisma);
  const archive = archiveOf(signed);
  const heads = new Map<string, ChainEnd>(archive?.heads.map((head) => [head.chainId, head]));
  const begins = new Map(heads);
  yield EXPORT_FORMAT;
  if (signed) yield `begin ${JSON.stringify(signed)}`;
  if (until !== undefined) yield `until ${until}`;
  // Checkpoints first, so that the records read later are all that they cover.
  for await (const each of readCheckpoints(prisma, archive?.sequence ?? 0, until)) {
    if (until !== undefined) for (const head of parseCheckpoint(each.text)?.heads ?? []) heads.set(head.chainId, head);
    yield `checkpoint ${JSON.stringify(each)}`;
  }
  const closedIn = archive && { OR: [{ closedIn: null }, { closedIn: { gt: BigInt(archive.sequence) } }] };
  const chains = await prisma.auditChain.findMany({ ...(closedIn && { where: closedIn }), orderBy: { id: "asc" } });
  for (const chain of chains) {
    const { id: chainId, certificate: text, certificateSignature: signature } = chain;
    const isWhole = until === undefined || (chain.closedIn !== null && chain.closedIn <= until);
    const end = isWhole ? { size: Number(chain.headSequence), hash: chain.headHash } : heads.get(chainId);
    if (!end) continue;
    yield `chain ${chainId} ${end.size} ${end.hash} ${JSON.stringify({ text, signature })}`;
    for (let after = BigInt(begins.get(chainId)?.size ?? 0); ; ) {
      const where = { chainId, lastSequence: { gt: after, lte: BigInt(end.size) } };
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
  if ((await readLastArchive(prisma))?.text !== signed?.text)
    throw new AppError("Unavailable", { detail: "a part of the log was taken out meanwhile: try again" });
  yield "end";
}
