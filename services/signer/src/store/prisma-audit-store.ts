import type { AuditStore, CountedSignatures } from "../audit/audit-log.ts";
import type { AuditRecord } from "../audit/record.ts";
import type { PrismaClient } from "./generated/client.ts";

/** Audit chains in Postgres. */
export function prismaAuditStore(prisma: PrismaClient): AuditStore {
  return {
    async startChain({ chainId, sequence, hash }, startedAt) {
      await prisma.auditChain.create({ data: { id: chainId, startedAt, headSequence: sequence, headHash: hash } });
    },

    async commit(head, records, counted = NOTHING_COUNTED) {
      const last = records.at(-1)!;
      const { minute, counts, limit } = counted;
      // In one order everywhere: two replicas with the same accounts must not wait for each other.
      const added = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
      // One statement, so that counts, records and head commit together with one flush. One JSON text: arrays of columns cost the driver more than
      // the signatures cost us.
      const rows = await prisma.$queryRaw<{ written: number; account_id: string | null; count: number }[]>`
        WITH counted AS (
          INSERT INTO signature_count AS c (account_id, minute, count)
          SELECT t.id, ${minute}, t.added
          FROM unnest(${added.map(([id]) => id)}::uuid[], ${added.map(([, count]) => count)}::int[]) AS t(id, added)
          ON CONFLICT (account_id, minute) DO UPDATE SET count = c.count + EXCLUDED.count
          RETURNING account_id, count),
        moved AS (
          UPDATE audit_chain SET head_sequence = ${last.sequence}, head_hash = ${last.hash}
          WHERE id = ${head.chainId}::uuid AND head_sequence = ${head.sequence} AND head_hash = ${head.hash}
            AND NOT EXISTS (SELECT FROM counted WHERE count > ${limit})
          RETURNING id),
        written AS (
          INSERT INTO audit_record (chain_id, sequence, time, caller, account_id, session_id, operation, chain_name, message_hash,
            script_hash, verdict, policy_version, key_version, previous_hash, hash)
          SELECT moved.id, t.* FROM moved, json_to_recordset(${JSON.stringify(records.map(toRow))}::json) AS t(
            sequence bigint, time timestamptz, caller text, account_id text, session_id text, operation text, chain_name text,
            message_hash text, script_hash text, verdict text, policy_version text, key_version int, previous_hash text, hash text)
          RETURNING 1)
        SELECT w.written, counted.account_id, counted.count
        FROM (SELECT count(*)::int AS written FROM written) AS w LEFT JOIN counted ON true`;
      if (rows[0]?.written === records.length) return { committed: true };
      const reached = new Map(rows.map((row) => [row.account_id ?? "", row.count]));
      if ([...reached.values()].some((count) => count > limit)) return { committed: false, reached };
      throw new Error(`audit chain ${head.chainId} has another head`);
    },
  };
}

const NOTHING_COUNTED: CountedSignatures = { minute: new Date(0), counts: new Map(), limit: 0 };

const toRow = (record: AuditRecord) => ({
  sequence: String(record.sequence),
  time: record.time.toISOString(),
  caller: record.caller,
  account_id: record.accountId,
  session_id: record.sessionId,
  operation: record.operation,
  chain_name: record.chainName,
  message_hash: record.messageHash,
  script_hash: record.scriptHash,
  verdict: record.verdict,
  policy_version: record.policyVersion,
  key_version: record.keyVersion,
  previous_hash: record.previousHash,
  hash: record.hash,
});

/** Counts of minutes that are over; they decide nothing any more. */
export async function pruneSignatureCounts(prisma: PrismaClient, before: Date): Promise<void> {
  await prisma.signatureCount.deleteMany({ where: { minute: { lt: before } } });
}
