import { isOpenFees } from "../budget/budget.ts";
import {
  type ChainUse,
  type Executed,
  type OpenReservation,
  type Returned,
  release,
  settle,
} from "../budget/settlement.ts";
import type { SettlementStore } from "../domain/settle-reservations.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";

type Sql = Pick<Prisma.TransactionClient, "$queryRaw" | "$executeRaw" | "budgetUsage">;

/** The bounds of one call; the next one goes on with the rest. */
const BOUNDS = {
  /** Settled or released in one transaction: the rows of the service's budget are locked meanwhile. */
  perTransaction: 500,
  /** Given their height in one statement: few, so that each is found by its key. */
  perStatement: 1_000,
  /** Milliseconds for each of the three steps; the caller waits for ten seconds. */
  sliceMs: 3_000,
};

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

/** Settles those that executed and are open, in one transaction. */
async function settlePart(
  tx: Prisma.TransactionClient,
  chainName: string,
  executed: readonly Executed[],
  { floor, now }: { floor: ChainUse; now: Date },
): Promise<{ settled: number; underestimated: number }> {
  // By the primary key: with "computation > 0" or a join, the planner may read all open ones for each part.
  const proposals = executed.map(({ proposal }) => proposal);
  const open = await tx.$queryRaw<OpenReservation[]>`
    SELECT proposal, computation::float8, fees::float8, budgets AS "windowIds" FROM budget_reservation
    WHERE chain_name = ${chainName} AND proposal = ANY (${proposals}) AND settled_at IS NULL
      AND computation <> 0
    ORDER BY chain_name, proposal FOR UPDATE`;
  const { settled, returned, underestimated } = settle(open, executed, floor);
  if (settled.length === 0) return { settled: 0, underestimated: 0 };
  // The row keeps what was signed, by which a retry is known; only the windows are lowered.
  await tx.budgetReservation.updateMany({
    where: { chainName, proposal: { in: settled } },
    data: { settledAt: now },
  });
  await lower(tx, chainName, returned);
  return { settled: settled.length, underestimated };
}

/** Releases at most so many reservations, in one transaction. Returns how many. */
async function releasePart(
  tx: Prisma.TransactionClient,
  chainName: string,
  { seenBelow, seconds, limit }: { seenBelow: bigint; seconds: number; limit: number },
): Promise<number> {
  const open = await tx.$queryRaw<OpenReservation[]>`
    SELECT proposal, computation::float8, fees::float8, budgets AS "windowIds" FROM budget_reservation
    WHERE chain_name = ${chainName} AND settled_at IS NULL AND computation > 0 AND seen_height < ${seenBelow}
      AND renewed_at <= now() - make_interval(secs => ${seconds}::double precision)
    LIMIT ${limit} FOR UPDATE SKIP LOCKED`;
  if (open.length === 0) return 0;
  await tx.budgetReservation.deleteMany({
    where: { chainName, proposal: { in: open.map(({ proposal }) => proposal) } },
  });
  await lower(tx, chainName, release(open));
  return open.length;
}

/** Settles open reservations in Postgres: in parts that commit by themselves, each once. */
export function prismaSettlementStore(prisma: PrismaClient, bounds: Partial<typeof BOUNDS> = {}): SettlementStore {
  const { perTransaction, perStatement, sliceMs } = { ...BOUNDS, ...bounds };
  /** Repeats a step until it finds no full part, or until its time is over. Returns how many it did. */
  async function inParts(size: number, part: () => Promise<number>): Promise<number> {
    const end = performance.now() + sliceMs;
    for (let total = 0; ; ) {
      const count = await part();
      total += count;
      if (count < size || performance.now() >= end) return total;
    }
  }
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
      const end = performance.now() + sliceMs;
      const total = { settled: 0, underestimated: 0, isWhole: true };
      for (let from = 0; from < executed.length; from += perTransaction) {
        const some = executed.slice(from, from + perTransaction);
        const part = await prisma.$transaction((tx) => settlePart(tx, chainName, some, { floor, now }));
        total.settled += part.settled;
        total.underestimated += part.underestimated;
        const isLast = from + perTransaction >= executed.length;
        if (part.settled > 0 && !isLast && performance.now() >= end) return { ...total, isWhole: false };
      }
      return total;
    },

    async see(chainName, mark, height) {
      // Reservations that are being signed for again now are left for the next time, so that this waits for
      // no lock. The others that are left get a larger height then, and lapse later. The order is an index's.
      await inParts(
        perStatement,
        () => prisma.$executeRaw`
          UPDATE budget_reservation r SET seen_height = ${height}
          FROM (
            SELECT chain_name, proposal FROM budget_reservation
            WHERE chain_name = ${chainName} AND settled_at IS NULL AND computation > 0 AND seen_height IS NULL
              AND renewed_at <= ${mark}
            ORDER BY seen_height LIMIT ${perStatement} FOR UPDATE SKIP LOCKED) AS t
          WHERE r.chain_name = t.chain_name AND r.proposal = t.proposal`,
      );
    },

    release: (chainName, seenBelow, seconds) =>
      inParts(perTransaction, () =>
        prisma.$transaction((tx) => releasePart(tx, chainName, { seenBelow, seconds, limit: perTransaction })),
      ),
  };
}
