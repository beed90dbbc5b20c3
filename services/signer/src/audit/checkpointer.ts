import type { Clock, LogFields, Logger } from "@countersign/core";
import { startPeriodicJob } from "@countersign/runtime";
import type { AuditSigner } from "./audit-key.ts";
import type { AuditHead } from "./audit-store.ts";
import { buildCheckpoint } from "./build-checkpoint.ts";
import { type CheckpointFile, CheckpointForkError } from "./checkpoint-file.ts";
import type { CheckpointStore } from "./checkpoint-store.ts";
import { createClosedComparison } from "./compare-closed-chains.ts";
import { fillCheckpointFile } from "./fill-checkpoint-file.ts";

export interface CheckpointerOptions {
  readonly store: CheckpointStore;
  readonly signer: AuditSigner;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where this process's own chain ends, as it remembers it. */
  ownHead(): AuditHead | undefined;
  readonly file?: CheckpointFile;
  /** Milliseconds between the beginnings of two looks. */
  readonly intervalMs: number;
  /** Milliseconds without a run that could make a checkpoint and fill the file until an alarm; 150,000. */
  readonly stalledMs?: number;
  /** Called for everything that shows a changed, forged or shortened log. */
  onAlarm?(): void;
}

/** Alarms of one run that are logged: an attacker in the database can make any number of chains. */
const MAX_LOGGED_ALARMS = 20;
/** Longer than the transaction of a checkpoint over millions of records may take. */
const STALLED_MS = 150_000;

/**
 * Makes checkpoints while a process of the signer has written something new, and keeps the file at the
 * database's state. An attacker who can write to the database can stop checkpoints, which raises an alarm,
 * but cannot have one made of forged records.
 */
export function startCheckpointer(options: CheckpointerOptions) {
  const { store, signer, clock, logger, ownHead, file, intervalMs, stalledMs = STALLED_MS } = options;
  let logged = 0;
  const alarm = (details: LogFields, message: string) => {
    options.onAlarm?.();
    logged += 1;
    if (logged <= MAX_LOGGED_ALARMS) logger.error(details, message);
    else if (logged === MAX_LOGGED_ALARMS + 1) logger.error("more alarms of the audit log are counted, not logged");
  };
  const compareClosed = createClosedComparison(store, { signer, alarm });

  let lastGood = performance.now();
  async function look(): Promise<void> {
    logged = 0;
    try {
      // Before the rows are read: what is written from now on may be missing in them.
      const own = ownHead();
      const couldMake = await store.write((basis) => buildCheckpoint({ signer, clock, alarm }, basis, own));
      if (file) await fillCheckpointFile({ store, signer, alarm }, file);
      if (couldMake) lastGood = performance.now();
      await compareClosed();
    } catch (err) {
      if (err instanceof CheckpointForkError) alarm({ err }, "the database's checkpoints are not those of the file");
      // Signing goes on: records are durable without a checkpoint, and the next one covers them.
      else logger.warn({ err }, "a checkpoint of the audit log failed; will retry");
    }
    if (performance.now() - lastGood > stalledMs)
      alarm({}, "no checkpoint of the audit log can be made, or written to the file, for minutes");
  }

  const job = startPeriodicJob({ job: "audit checkpoints", intervalMs, fromBeginning: true, logger, run: look });

  return {
    /** Ends with a last checkpoint, so that a process that stops in order leaves nothing uncovered. */
    async close(): Promise<void> {
      await job.close();
      await look();
    },
  };
}
