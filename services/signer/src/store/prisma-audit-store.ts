import type { AuditStore } from "../audit/audit-log.ts";
import type { AuditRecord } from "../audit/record.ts";
import type { PrismaClient } from "./generated/client.ts";

/** Audit chains in Postgres: records and head of a batch in one statement. */
export function prismaAuditStore(prisma: PrismaClient): AuditStore {
  return {
    async startChain({ chainId, sequence, hash }, startedAt) {
      await prisma.auditChain.create({ data: { id: chainId, startedAt, headSequence: sequence, headHash: hash } });
    },

    async commit(head, minute, counts, build) {
      const records = build(await count(prisma, minute, counts));
      const last = records.at(-1)!;
      const column = <K extends keyof AuditRecord>(name: K) => records.map((record) => record[name]);
      // One statement, so that records and head commit together with one flush; Prisma's createMany costs more than the signatures.
      const written = await prisma.$executeRaw`
        WITH moved AS (
          UPDATE audit_chain SET head_sequence = ${last.sequence}, head_hash = ${last.hash}
          WHERE id = ${head.chainId}::uuid AND head_sequence = ${head.sequence} AND head_hash = ${head.hash}
          RETURNING id)
        INSERT INTO audit_record (chain_id, sequence, time, caller, account_id, session_id, operation, chain_name, message_hash,
          script_hash, verdict, policy_version, key_version, previous_hash, hash)
        SELECT moved.id, t.* FROM moved, unnest(
          ${column("sequence").map(String)}::bigint[],
          ${column("time").map((time) => time.toISOString())}::timestamptz[],
          ${column("caller")}::text[], ${column("accountId")}::text[], ${column("sessionId")}::text[],
          ${column("operation")}::text[], ${column("chainName")}::text[], ${column("messageHash")}::text[],
          ${column("scriptHash")}::text[], ${column("verdict")}::text[], ${column("policyVersion")}::text[],
          ${column("keyVersion")}::int[], ${column("previousHash")}::text[], ${column("hash")}::text[]) AS t`;
      if (written !== records.length) throw new Error(`audit chain ${head.chainId} has another head`);
      return records;
    },
  };
}

/**
 * Adds to the accounts' counts of the minute and gives what they came to. On its own, before the records: a commit that fails after it has counted too much, never too little.
 */
async function count(
  prisma: PrismaClient,
  minute: Date,
  counts: ReadonlyMap<string, number>,
): Promise<Map<string, number>> {
  if (counts.size === 0) return new Map();
  // In one order everywhere: two replicas with the same accounts must not wait for each other.
  const ids = [...counts.keys()].sort();
  const added = ids.map((id) => counts.get(id)!);
  const rows = await prisma.$queryRaw<{ account_id: string; count: number }[]>`
    INSERT INTO signature_count (account_id, minute, count)
    SELECT id, ${minute}, n FROM unnest(${ids}::uuid[], ${added}::int[]) AS t(id, n)
    ON CONFLICT (account_id, minute) DO UPDATE SET count = signature_count.count + EXCLUDED.count
    RETURNING account_id, count`;
  return new Map(rows.map((row) => [row.account_id, row.count]));
}

/** Counts of minutes that are over; they decide nothing any more. */
export async function pruneSignatureCounts(prisma: PrismaClient, before: Date): Promise<void> {
  await prisma.signatureCount.deleteMany({ where: { minute: { lt: before } } });
}
