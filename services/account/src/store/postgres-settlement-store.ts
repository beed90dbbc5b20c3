import type { Postgres } from "@countersign/postgres";
import type { SettlementStore } from "../domain/budgets/settle-budgets.ts";
import type { Leases } from "../domain/ports.ts";
import { heightsIn } from "./lease-height.ts";

/** Keeps the heights up to which chains were reported to the signer, in Postgres. */
export function postgresSettlementStore(postgres: Postgres): SettlementStore & Leases {
  const heights = heightsIn("budget_settlement");
  return {
    mayLease: (chainName, lease) => heights.mayLease(postgres, chainName, lease),
    lease: (chainName, lease, begin) => heights.lease(postgres, chainName, lease, begin),
    advance: (chainName, moved) => heights.advance(postgres, chainName, moved),
  };
}
