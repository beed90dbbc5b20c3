import { type Postgres, type Queries, sql, sqlFile } from "@countersign/postgres";
import {
  type AuditHead,
  AuditHeadMovedError,
  type AuditStore,
  type Charge,
  type CountedSignatures,
  type SignedBatch,
} from "../audit/audit-store.ts";
import type { AuditRecord } from "../audit/record.ts";
import { chargeRows, lockBudgets, removeEmpty } from "./budget-charge.ts";

/** Raised by over_limit() of the migrations. */
const OVER_LIMIT = "CS001";

/** Keeps audit chains in Postgres. */
export function postgresAuditStore(postgres: Postgres): AuditStore {
  return {
    async startChain({ chainId, sequence, hash }, startedAt, { text, signature }) {
      await postgres.execute(sql`
        INSERT INTO audit_chain (id, started_at, head_sequence, head_hash, certificate, certificate_signature)
        VALUES (${chainId}, ${startedAt}, ${sequence}, ${hash}, ${text}, ${signature})`);
    },

    async commit(head, batch, charge) {
      try {
        await writeBatch(postgres, head, batch, charge);
        return true;
      } catch (error) {
        if ((error as { code?: unknown }).code === OVER_LIMIT) return false;
        throw error;
      }
    },

    commitWithinLimits: (head, { counted, reservations }, applyLimits) =>
      postgres.transaction(async (tx) => {
        const counts = await addCounts(tx, counted);
        const budgets = await lockBudgets(tx, reservations);
        const { batch, reservations: allowed } = await applyLimits(counts, budgets);
        const charge = { counted: NOTHING_COUNTED, reservations: allowed };
        // Without a record nothing was signed, so that nothing is reserved.
        if (batch.records.length > 0) await writeBatch(tx, head, batch, charge);
        await removeEmpty(tx, reservations);
      }),
  };
}

const NOTHING_COUNTED: CountedSignatures = { minute: new Date(0), counts: new Map(), limit: 0 };

// In one order everywhere: two replicas with the same accounts must not wait for each other.
const sortedCounts = ({ counts }: CountedSignatures) => [...counts].sort(([a], [b]) => (a < b ? -1 : 1));

async function addCounts(tx: Queries, counted: CountedSignatures): Promise<Map<string, number>> {
  const added = sortedCounts(counted);
  const rows = await tx.query<{ account_id: string; count: number }>(sql`
    INSERT INTO signature_count AS c (account_id, minute, count)
    SELECT t.id, ${counted.minute}, t.added
    FROM unnest(${added.map(([id]) => id)}::uuid[], ${added.map(([, count]) => count)}::int[]) AS t(id, added)
    ON CONFLICT (account_id, minute) DO UPDATE SET count = c.count + EXCLUDED.count
    RETURNING account_id, count`);
  return new Map(rows.map((row) => [row.account_id, row.count]));
}

const batchStatement = sqlFile(new URL("../../sql/write-batch.sql", import.meta.url));

async function writeBatch(
  tx: Queries,
  head: AuditHead,
  { records, signature }: SignedBatch,
  { counted, reservations }: Charge,
): Promise<void> {
  const last = records.at(-1)!;
  const added = sortedCounts(counted);
  const [row] = await tx.query<{ written: boolean }>(
    batchStatement({
      minute: counted.minute,
      accountIds: added.map(([id]) => id),
      counts: added.map(([, count]) => count),
      limit: counted.limit,
      ...chargeRows(reservations),
      chainId: head.chainId,
      headSequence: head.sequence,
      headHash: head.hash,
      lastSequence: last.sequence,
      lastHash: last.hash,
      time: latest(records),
      hashes: records.map(({ hash }) => hash).join(""),
      texts: records.map(({ text }) => text).join("\n"),
      signature: Buffer.from(signature).toString("hex"),
    }),
  );
  if (!row?.written) throw new AuditHeadMovedError(`audit chain ${head.chainId} has another head`);
}

/** Returns the latest time of the records. */
const latest = (records: readonly AuditRecord[]): Date =>
  new Date(records.reduce((time, record) => Math.max(time, record.time.getTime()), 0));
