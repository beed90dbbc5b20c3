import type { Metrics } from "@countersign/service-kit";
import { Counter } from "prom-client";

/** Counts what must never be: a log that was changed, or checkpoints that could not be made. */
export const createAuditAlarms = ({ registry }: Metrics): Counter =>
  new Counter({
    name: "countersign_signer_audit_alarms",
    help: "Signs of a changed or shortened audit log, and checkpoints that failed",
    registers: [registry],
  });
