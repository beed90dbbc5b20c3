import type { ServiceProcess } from "@countersign/runtime";
import { Counter } from "prom-client";
import type { AuditStore } from "./audit-store.ts";
import type { AuditRecord } from "./record.ts";

/**
 * Counts the records that a store commits, by operation and verdict, so that the counter agrees with the
 * audit log. A commit whose success is unknown is not counted. Verdicts are "signed" or reasons of refusals:
 * a closed set.
 */
export function countRecords(store: AuditStore, { metrics }: Pick<ServiceProcess, "metrics">): AuditStore {
  const signatures = new Counter({
    name: "countersign_signer_signatures_total",
    help: "Recorded decisions about signatures: signed, or the reason of the refusal",
    labelNames: ["operation", "verdict"] as const,
    registers: [metrics.registry],
  });
  const count = (records: readonly AuditRecord[]): void => {
    for (const { operation, verdict } of records) signatures.inc({ operation, verdict });
  };
  return {
    startChain: (head, startedAt, certificate) => store.startChain(head, startedAt, certificate),
    async commit(head, batch, charge) {
      const committed = await store.commit(head, batch, charge);
      if (committed) count(batch.records);
      return committed;
    },
    async commitWithinLimits(head, charge, applyLimits) {
      let records: readonly AuditRecord[] = [];
      await store.commitWithinLimits(head, charge, async (counts, budgets) => {
        const limited = await applyLimits(counts, budgets);
        records = limited.batch.records;
        return limited;
      });
      count(records);
    },
  };
}
