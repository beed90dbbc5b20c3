import { uuidv7 } from "@countersign/core";
import type { ServiceProcess } from "@countersign/runtime";
import { Counter } from "prom-client";
import type { BudgetWindow } from "../budget/budget.ts";
import { createAuditWriter, type RunningVault } from "../vault/index.ts";
import type { AuditSigner } from "./audit-key.ts";
import { type AuditLog, createAuditLog } from "./audit-log.ts";
import type { AuditStore } from "./audit-store.ts";
import { certificateText } from "./batch.ts";
import { openCheckpointFile } from "./checkpoint-file.ts";
import type { CheckpointStore } from "./checkpoint-store.ts";
import { startCheckpointer } from "./checkpointer.ts";
import { countRecords } from "./count-records.ts";

const AUDIT_KEY = { role: "audit" } as const;

export interface AuditOptions {
  readonly vault: RunningVault["vault"];
  readonly signer: AuditSigner;
  readonly records: AuditStore;
  readonly checkpoints: CheckpointStore;
  readonly settings: {
    readonly signaturesPerMinute: number;
    readonly checkpointFile: string | undefined;
    readonly checkpointMs: number;
  };
  /** Called for each signature that a budget refuses. */
  readonly onBudgetExceeded: (window: BudgetWindow) => void;
}

/** Returns the vault's audit key for texts of checkpoints and archives. */
export function auditSigner({ vault, auditKeys }: RunningVault): AuditSigner {
  // The one of the start: other replicas must know a newer one before it signs.
  const version = vault.version(AUDIT_KEY);
  return {
    version: () => version,
    sign: (text) => vault.sign({ ...AUDIT_KEY, version }, text),
    get keys() {
      return auditKeys();
    },
  };
}

/** Starts the process's audit log and the checkpoints over all logs; they stop with the process. */
export async function startAudit(
  { vault, signer, records, checkpoints, settings, onBudgetExceeded }: AuditOptions,
  { logger, metrics, clock, onClose }: Pick<ServiceProcess, "logger" | "metrics" | "clock" | "onClose">,
): Promise<AuditLog> {
  const { signaturesPerMinute, checkpointFile, checkpointMs } = settings;
  const alarms = new Counter({
    name: "countersign_signer_audit_alarms_total",
    help: "Signs of a changed or shortened audit log or of changed checkpoints",
    registers: [metrics.registry],
  });
  const onAlarm = () => alarms.inc();
  const writerId = uuidv7(clock);
  const writer = await createAuditWriter(vault, (publicKey, keyVersion) =>
    certificateText({ writerId, startedAt: clock.now(), keyVersion, publicKey }),
  );
  const log = createAuditLog({
    store: countRecords(records, { metrics }),
    writer,
    onAlarm,
    clock,
    logger,
    signaturesPerMinute,
    onBudgetExceeded,
  });
  const checkpointer = startCheckpointer({
    store: checkpoints,
    signer,
    ownHead: log.head,
    ...(checkpointFile && { file: openCheckpointFile(checkpointFile) }),
    intervalMs: checkpointMs,
    onAlarm,
    clock,
    logger,
  });
  onClose("checkpoints", () => checkpointer.close());
  return log;
}
