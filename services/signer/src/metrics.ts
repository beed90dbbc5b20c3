import type { Metrics } from "@countersign/runtime";
import { Counter } from "prom-client";

/** Counts what must never be: signs that somebody changed or shortened the log. */
export const createAuditAlarms = ({ registry }: Metrics): Counter =>
  new Counter({
    name: "countersign_signer_audit_alarms",
    help: "Signs of a changed or shortened audit log or of changed checkpoints",
    registers: [registry],
  });
