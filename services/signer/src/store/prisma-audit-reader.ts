import { type AuditOperation, type AuditRecord, recordText } from "../audit/record.ts";
import type { AuditReader } from "../domain/get-audit-proof.ts";
import type { PrismaClient, AuditRecord as Row } from "./generated/client.ts";
import { readRecordHashes } from "./prisma-checkpoint-store.ts";

const toRecord = (row: Row): AuditRecord => ({ ...row, operation: row.operation as AuditOperation });

/** Audit chains in Postgres, to prove records of them. */
export function prismaAuditReader(prisma: PrismaClient): AuditReader {
  return {
    async record(chainId, sequence) {
      const row = await prisma.auditRecord.findUnique({ where: { chainId_sequence: { chainId, sequence } } });
      return row ? toRecord(row) : undefined;
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

const PAGE = 5000;

/** Everything that audit/verify-export.ts reads, line by line; what is written meanwhile is left out. */
export async function* exportAudit(prisma: PrismaClient): AsyncGenerator<string> {
  yield "countersign-audit-export-1";
  // Checkpoints first, so that the records read later are all that they cover.
  for (let after = 0n; ; ) {
    const rows = await prisma.auditCheckpoint.findMany({
      where: { sequence: { gt: after } },
      orderBy: { sequence: "asc" },
      take: PAGE,
    });
    for (const { text, signature } of rows) yield `checkpoint ${JSON.stringify({ text, signature })}`;
    if (rows.length < PAGE) break;
    after = rows.at(-1)!.sequence;
  }
  const chains = await prisma.auditChain.findMany({ orderBy: { id: "asc" } });
  for (const { id: chainId, headSequence, headHash } of chains) {
    yield `chain ${chainId} ${headSequence} ${headHash}`;
    for (let after = 0n; ; ) {
      const where = { chainId, sequence: { gt: after, lte: headSequence } };
      const rows = await prisma.auditRecord.findMany({ where, orderBy: { sequence: "asc" }, take: PAGE });
      for (const row of rows) yield `${row.hash} ${recordText(toRecord(row))}`;
      if (rows.length < PAGE) break;
      after = rows.at(-1)!.sequence;
    }
  }
  yield "end";
}
