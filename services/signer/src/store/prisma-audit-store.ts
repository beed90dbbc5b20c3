import type { AuditStore } from "../audit/audit-log.ts";
import type { PrismaClient } from "./generated/client.ts";

/** Audit chains in Postgres: records, head and counts of a batch in one transaction. */
export function prismaAuditStore(prisma: PrismaClient): AuditStore {
  return {
    async startChain({ chainId, sequence, hash }, startedAt) {
      await prisma.auditChain.create({ data: { id: chainId, startedAt, headSequence: sequence, headHash: hash } });
    },

    commit: (head, minute, counts, build) =>
      prisma.$transaction(async (tx) => {
        const reached = new Map<string, number>();
        if (counts.size > 0) {
          // In one order everywhere: two replicas with the same accounts must not wait for each other.
          const ids = [...counts.keys()].sort();
          const added = ids.map((id) => counts.get(id)!);
          const rows = await tx.$queryRaw<{ account_id: string; count: number }[]>`
            INSERT INTO signature_count (account_id, minute, count)
            SELECT id, ${minute}, n FROM unnest(${ids}::uuid[], ${added}::int[]) AS t(id, n)
            ON CONFLICT (account_id, minute) DO UPDATE SET count = signature_count.count + EXCLUDED.count
            RETURNING account_id, count`;
          for (const row of rows) reached.set(row.account_id, row.count);
        }
        const records = build(reached);
        await tx.auditRecord.createMany({ data: records });
        const last = records.at(-1)!;
        const { count } = await tx.auditChain.updateMany({
          where: { id: head.chainId, headSequence: head.sequence, headHash: head.hash },
          data: { headSequence: last.sequence, headHash: last.hash },
        });
        if (count !== 1) throw new Error(`audit chain ${head.chainId} has another head`);
        return records;
      }),
  };
}

/** Counts of minutes that are over; they decide nothing any more. */
export async function pruneSignatureCounts(prisma: PrismaClient, before: Date): Promise<void> {
  await prisma.signatureCount.deleteMany({ where: { minute: { lt: before } } });
}
