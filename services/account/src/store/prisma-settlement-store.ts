import type { SettlementStore } from "../domain/budgets/settle-budgets.ts";
import type { Leases } from "../domain/ports.ts";
import type { PrismaClient } from "./generated/client.ts";
import { leaseHeight, mayLeaseHeight } from "./lease-height.ts";

/** Keeps the heights up to which chains were reported to the signer, in Postgres. */
export function prismaSettlementStore(prisma: PrismaClient): SettlementStore & Leases {
  return {
    mayLease: (chainName, lease) => mayLeaseHeight(prisma, "budget_settlement", chainName, lease),
    lease: (chainName, lease, begin) => leaseHeight(prisma, "budget_settlement", chainName, lease, begin),
    async advance(chainName, { from, to }) {
      const where = { chainName, height: from };
      const { count } = await prisma.budgetSettlement.updateMany({ where, data: { height: to } });
      return count > 0;
    },
  };
}
