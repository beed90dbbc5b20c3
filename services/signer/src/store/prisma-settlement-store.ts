import { isOpenFees } from "../budget/budget.ts";
import { type OpenReservation, type Returned, release, settle } from "../budget/settlement.ts";
import type { SettlementStore } from "../domain/settle-reservations.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";

type Sql = Pick<Prisma.TransactionClient, "$queryRaw" | "$executeRaw" | "budgetUsage">;

interface OpenRow {
  proposal: string;
  computation: bigint;
  fees: bigint;
  budgets: string[];
}
const toOpen = ({ proposal, computation, fees, budgets }: OpenRow): OpenReservation => ({
  proposal,
  computation: Number(computation),
  fees: Number(fees),
  windowIds: budgets,
});

/** So many are released in one transaction: the rows of the service's budget are locked meanwhile. */
const RELEASES_PER_TRANSACTION = 500;

/**
 * Gives windows back what was reserved and not taken, in the order in which signatures lock them. An account
 * without open fees has no row for them.
 */
async function lower(tx: Sql, chainName: string, returned: Returned): Promise<void> {
  const rows = [...returned].map(([budget, { computation, fees }]) => ({ budget, computation, fees }));
  const text = JSON.stringify(rows);
  await tx.$queryRaw`
    SELECT 1 FROM budget_usage WHERE chain_name = ${chainName}
      AND budget IN (SELECT budget FROM json_to_recordset(${text}::json) AS t(budget text))
    ORDER BY chain_name, budget FOR UPDATE`;
  await tx.$executeRaw`
    UPDATE budget_usage u
    SET computation = greatest(u.computation - t.computation, 0), fees = greatest(u.fees - t.fees, 0)
    FROM json_to_recordset(${text}::json) AS t(budget text, computation bigint, fees bigint)
    WHERE u.chain_name = ${chainName} AND u.budget = t.budget`;
  const budget = { in: [...returned.keys()].filter(isOpenFees) };
  await tx.budgetUsage.deleteMany({ where: { chainName, budget, fees: 0 } });
}

/** Settles open reservations in Postgres. */
export function prismaSettlementStore(prisma: PrismaClient): SettlementStore {
  return {
    async begin(chainName) {
      // The mark is read before the look: who is not seen by it reserves after the mark.
      const [row] = await prisma.$queryRaw<{ mark: Date; open: boolean }[]>`
        SELECT now() AS mark, EXISTS (
          SELECT FROM budget_reservation WHERE chain_name = ${chainName} AND settled_at IS NULL AND computation > 0
        ) AS open`;
      return row!;
    },

    async settle(chainName, executed, floor, now) {
      if (executed.length === 0) return { settled: 0, underestimated: 0 };
      return prisma.$transaction(async (tx) => {
        const proposals = JSON.stringify(executed.map(({ proposal }) => ({ proposal })));
        const open = await tx.$queryRaw<OpenRow[]>`
          SELECT proposal, computation, fees, budgets FROM budget_reservation
          WHERE chain_name = ${chainName} AND settled_at IS NULL AND computation > 0
            AND proposal IN (SELECT proposal FROM json_to_recordset(${proposals}::json) AS t(proposal text))
          ORDER BY chain_name, proposal FOR UPDATE`;
        const { settled, returned, underestimated } = settle(open.map(toOpen), executed, floor);
        if (settled.length === 0) return { settled: 0, underestimated: 0 };
        // The row keeps what was signed, by which a retry is known; only the windows are lowered.
        await tx.budgetReservation.updateMany({
          where: { chainName, proposal: { in: settled } },
          data: { settledAt: now },
        });
        await lower(tx, chainName, returned);
        return { settled: settled.length, underestimated };
      });
    },

    async see(chainName, mark, height) {
      // Reservations that are being signed for again now are left for the next time, so that this waits for
      // no lock.
      await prisma.$executeRaw`
        UPDATE budget_reservation r SET seen_height = ${height}
        FROM (
          SELECT chain_name, proposal FROM budget_reservation
          WHERE chain_name = ${chainName} AND settled_at IS NULL AND computation > 0 AND seen_height IS NULL
            AND renewed_at <= ${mark}
          FOR UPDATE SKIP LOCKED) AS t
        WHERE r.chain_name = t.chain_name AND r.proposal = t.proposal`;
    },

    async release(chainName, seenBelow, seconds) {
      for (let total = 0; ; ) {
        const count = await prisma.$transaction(async (tx) => {
          const open = await tx.$queryRaw<OpenRow[]>`
            SELECT proposal, computation, fees, budgets FROM budget_reservation
            WHERE chain_name = ${chainName} AND settled_at IS NULL AND computation > 0 AND seen_height < ${seenBelow}
              AND renewed_at <= now() - make_interval(secs => ${seconds}::double precision)
            LIMIT ${RELEASES_PER_TRANSACTION} FOR UPDATE SKIP LOCKED`;
          if (open.length === 0) return 0;
          await tx.budgetReservation.deleteMany({
            where: { chainName, proposal: { in: open.map(({ proposal }) => proposal) } },
          });
          await lower(tx, chainName, release(open.map(toOpen)));
          return open.length;
        });
        total += count;
        if (count < RELEASES_PER_TRANSACTION) return total;
      }
    },
  };
}
