import {
  type AuditHead,
  AuditHeadMovedError,
  type AuditStore,
  type Charge,
  type CountedSignatures,
  type SignedBatch,
} from "../audit/audit-store.ts";
import type { AuditRecord } from "../audit/record.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";
import { chargeRows, lockBudgets, removeEmpty } from "./prisma-budget-charge.ts";

type Sql = Pick<Prisma.TransactionClient, "$queryRaw" | "$executeRaw">;

/** Raised by over_limit() of the migrations. */
const OVER_LIMIT = "CS001";

/** The SQLSTATE that Postgres gave, through what Prisma makes of it; undefined where it gave none. */
function sqlState(error: unknown): string | undefined {
  const { meta } = (error ?? {}) as { meta?: { driverAdapterError?: { cause?: { originalCode?: string } } } };
  return meta?.driverAdapterError?.cause?.originalCode;
}

/** Audit chains in Postgres. */
export function prismaAuditStore(prisma: PrismaClient): AuditStore {
  return {
    async startChain({ chainId, sequence, hash }, startedAt, { text, signature }) {
      const certified = { certificate: text, certificateSignature: signature };
      const head = { headSequence: sequence, headHash: hash };
      await prisma.auditChain.create({ data: { id: chainId, startedAt, ...head, ...certified } });
    },

    async commit(head, batch, charge = NO_CHARGE) {
      try {
        await writeBatch(prisma, head, batch, charge);
        return true;
      } catch (error) {
        if (sqlState(error) === OVER_LIMIT) return false;
        throw error;
      }
    },

    commitWithinLimits: (head, { counted, reservations }, applyLimits) =>
      prisma.$transaction(async (tx) => {
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
const NO_CHARGE: Charge = { counted: NOTHING_COUNTED, reservations: [] };

// In one order everywhere: two replicas with the same accounts must not wait for each other.
const sortedCounts = ({ counts }: CountedSignatures) => [...counts].sort(([a], [b]) => (a < b ? -1 : 1));

async function addCounts(tx: Sql, counted: CountedSignatures): Promise<Map<string, number>> {
  const added = sortedCounts(counted);
  const rows = await tx.$queryRaw<{ account_id: string; count: number }[]>`
    INSERT INTO signature_count AS c (account_id, minute, count)
    SELECT t.id, ${counted.minute}, t.added
    FROM unnest(${added.map(([id]) => id)}::uuid[], ${added.map(([, count]) => count)}::int[]) AS t(id, added)
    ON CONFLICT (account_id, minute) DO UPDATE SET count = c.count + EXCLUDED.count
    RETURNING account_id, count`;
  return new Map(rows.map((row) => [row.account_id, row.count]));
}

/**
 * Counts, reservations, usage, records and head in one statement, so that they commit together with one
 * flush. A limit that would be passed raises over_limit(), which rolls all of it back. The lists are JSON
 * texts: the driver takes longer over arrays of columns than the signer over the signatures.
 *
 * A request that equals its reservation is skipped without a lock: a second signature over the same message
 * allows no more than the first.
 *
 * Rows are locked in the order counts, reservations, usage, each sorted; every other statement that locks
 * several of them uses the same order. The limits are checked by counting, which reads a subquery to its end
 * before the next one begins. A settled reservation with another block or a larger amount is a new one: no
 * window holds anything of it.
 */
async function writeBatch(
  tx: Sql,
  head: AuditHead,
  { records, signature }: SignedBatch,
  { counted, reservations }: Charge,
): Promise<void> {
  const last = records.at(-1) ?? head;
  const added = sortedCounts(counted);
  const { asked, windows } = chargeRows(reservations);
  const [row] = await tx.$queryRaw<{ written: boolean }[]>`
    WITH counted AS (
      INSERT INTO signature_count AS c (account_id, minute, count)
      SELECT t.id, ${counted.minute}, t.added
      FROM unnest(${added.map(([id]) => id)}::uuid[], ${added.map(([, count]) => count)}::int[]) AS t(id, added)
      ON CONFLICT (account_id, minute) DO UPDATE SET count = c.count + EXCLUDED.count
      RETURNING count),
    asked AS (
      SELECT * FROM json_to_recordset(${asked}::json) AS t(
        chain_name text, proposal text, reference_block text, count int, computation bigint, fees bigint, budgets text[])
      WHERE NOT coalesce((
        SELECT t.reference_block = r.reference_block AND t.count <= r.count AND t.computation <= r.computation AND t.fees <= r.fees
        FROM budget_reservation r WHERE r.chain_name = t.chain_name AND r.proposal = t.proposal), false)),
    windows AS (
      SELECT * FROM json_to_recordset(${windows}::json) AS t(
        chain_name text, budget text, ends_at timestamptz, most_count bigint, most_computation bigint, most_fees bigint)),
    reserved AS (
      INSERT INTO budget_reservation AS r (chain_name, proposal, reference_block, count, computation, fees, budgets,
        added_count, added_computation, added_fees)
      SELECT chain_name, proposal, reference_block, count, computation, fees, budgets, count, computation, fees
      FROM asked ORDER BY chain_name, proposal
      ON CONFLICT (chain_name, proposal) DO UPDATE SET
        reference_block = EXCLUDED.reference_block,
        count = CASE WHEN r.settled_at IS NULL THEN greatest(r.count, EXCLUDED.count) ELSE EXCLUDED.count END,
        computation = CASE WHEN r.settled_at IS NULL THEN greatest(r.computation, EXCLUDED.computation) ELSE EXCLUDED.computation END,
        fees = CASE WHEN r.settled_at IS NULL THEN greatest(r.fees, EXCLUDED.fees) ELSE EXCLUDED.fees END,
        budgets = EXCLUDED.budgets,
        previous_budgets = CASE WHEN r.settled_at IS NULL THEN r.budgets ELSE '{}' END,
        added_count = greatest(r.count, EXCLUDED.count) - r.count,
        added_computation = greatest(r.computation, EXCLUDED.computation) - r.computation,
        added_fees = greatest(r.fees, EXCLUDED.fees) - r.fees,
        renewed_at = now(), seen_height = NULL, settled_at = NULL
      WHERE EXCLUDED.reference_block <> r.reference_block
        OR EXCLUDED.count > r.count OR EXCLUDED.computation > r.computation OR EXCLUDED.fees > r.fees
      RETURNING chain_name, count, computation, fees, budgets, previous_budgets, added_count, added_computation, added_fees),
    charged AS (
      SELECT r.chain_name, b.budget,
        sum(CASE WHEN b.budget = ANY (r.previous_budgets) THEN r.added_count ELSE r.count END)::bigint AS count,
        sum(CASE WHEN b.budget = ANY (r.previous_budgets) THEN r.added_computation ELSE r.computation END)::bigint AS computation,
        sum(CASE WHEN b.budget = ANY (r.previous_budgets) THEN r.added_fees ELSE r.fees END)::bigint AS fees
      FROM reserved r CROSS JOIN LATERAL unnest(r.budgets) AS b(budget)
      WHERE r.fees > 0 OR b.budget NOT LIKE 'open/%'
      GROUP BY r.chain_name, b.budget),
    used AS (
      INSERT INTO budget_usage AS u (chain_name, budget, ends_at, count, computation, fees)
      SELECT c.chain_name, c.budget, w.ends_at, c.count, c.computation, c.fees
      FROM charged c JOIN windows w USING (chain_name, budget) ORDER BY c.chain_name, c.budget
      ON CONFLICT (chain_name, budget) DO UPDATE SET
        count = u.count + EXCLUDED.count, computation = u.computation + EXCLUDED.computation, fees = u.fees + EXCLUDED.fees
      RETURNING chain_name, budget, count, computation, fees),
    moved AS (
      UPDATE audit_chain SET head_sequence = ${last.sequence}, head_hash = ${last.hash}
      WHERE id = ${head.chainId}::uuid AND head_sequence = ${head.sequence} AND head_hash = ${head.hash}
        AND ${records.length > 0}
      RETURNING id),
    written AS (
      INSERT INTO audit_batch (chain_id, last_sequence, time, hashes, texts, signature)
      SELECT id, ${last.sequence}, ${latest(records)}, decode(${records.map(({ hash }) => hash).join("")}, 'hex'),
        ${records.map(({ text }) => text).join("\n")}, decode(${Buffer.from(signature).toString("hex")}, 'hex') FROM moved
      RETURNING 1)
    SELECT
      CASE WHEN (SELECT count(*) FROM counted WHERE count > ${counted.limit}) > 0 THEN over_limit() END,
      CASE WHEN (
        SELECT count(*) FROM used u JOIN charged c USING (chain_name, budget) JOIN windows w USING (chain_name, budget)
        WHERE c.count > 0 AND u.count > w.most_count
          OR c.computation > 0 AND u.computation > w.most_computation
          OR c.fees > 0 AND u.fees > w.most_fees) > 0 THEN over_limit() END,
      EXISTS (SELECT FROM written) AS written`;
  if (row?.written !== records.length > 0)
    throw new AuditHeadMovedError(`audit chain ${head.chainId} has another head`);
}

/** No record of a batch is of a later time. */
const latest = (records: readonly AuditRecord[]): Date =>
  new Date(records.reduce((time, record) => Math.max(time, record.time.getTime()), 0));

/** Counts of minutes that are over; they decide nothing any more. */
export async function pruneSignatureCounts(prisma: PrismaClient, before: Date): Promise<void> {
  await prisma.signatureCount.deleteMany({ where: { minute: { lt: before } } });
}
