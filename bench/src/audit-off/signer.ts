import { runService } from "@countersign/runtime";
import {
  type AuditHead,
  AuditHeadMovedError,
  type AuditStore,
  type Charge,
} from "../../../services/signer/src/audit/audit-store.ts";
import type { AuditRecord } from "../../../services/signer/src/audit/record.ts";
import { startSigner } from "../../../services/signer/src/start-signer.ts";

const NO_RECORD = { sequence: 0n, hash: "", text: "", time: new Date(0) } as AuditRecord;
const NO_RECORDS = { records: [NO_RECORD], signature: new Uint8Array() };

/** Commits counts and reservations without records: a batch whose chain has another head is not written. */
async function commitCharge(store: AuditStore, head: AuditHead, charge: Charge): Promise<boolean> {
  try {
    return await store.commit({ ...head, sequence: -1n }, NO_RECORDS, charge);
  } catch (error) {
    if (error instanceof AuditHeadMovedError) return true;
    throw error;
  }
}

/**
 * Commits the counts and reservations of a batch and none of its records; with BENCH_STORE=nothing it commits
 * nothing. Only for measuring what records cost.
 */
const withoutRecords = (store: AuditStore): AuditStore => ({
  ...store,
  commit:
    process.env.BENCH_STORE === "nothing"
      ? () => Promise.resolve(true)
      : (head, _batch, charge) => commitCharge(store, head, charge),
});

await runService({ name: "signer", start: (service) => startSigner(service, withoutRecords) });
