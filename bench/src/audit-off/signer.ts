import { runService } from "@countersign/runtime";
import type { AuditStore } from "../../../services/signer/src/audit/audit-store.ts";
import { startSigner } from "../../../services/signer/src/start-signer.ts";

const NO_RECORDS = { records: [], signature: new Uint8Array() };

/**
 * Commits the counts and reservations of a batch and none of its records; with BENCH_STORE=nothing it commits
 * nothing. Only for measuring what records cost.
 */
const withoutRecords = (store: AuditStore): AuditStore => ({
  ...store,
  commit:
    process.env.BENCH_STORE === "nothing"
      ? () => Promise.resolve(true)
      : (head, _batch, charge) => store.commit(head, NO_RECORDS, charge),
});

await runService({ name: "signer", start: (service) => startSigner(service, withoutRecords) });
