import { createActionLog } from "@countersign/admin-actions";
import { asPort } from "@countersign/core";
import type { ServiceRuntime } from "@countersign/runtime";
import { signerReadings } from "./account-readings.ts";
import { postgresAuditArchives } from "./audit-archives.ts";
import { deleteExpiredRows } from "./delete-expired-rows.ts";
import { PrismaClient } from "./generated/client.ts";
import { postgresAuditStore } from "./postgres-audit-store.ts";
import { postgresBindingStore } from "./postgres-binding-store.ts";
import { commonBudgetUse } from "./postgres-budget-usage.ts";
import { postgresSignedCreations } from "./postgres-signed-creations.ts";
import { exportAudit, prismaAuditReader } from "./prisma-audit-reader.ts";
import { prismaCheckpointStore } from "./prisma-checkpoint-store.ts";
import { prismaEffectStore } from "./prisma-effect-store.ts";
import { prismaAddedKeys, prismaRecoveryKeys, prismaRevokedKeys } from "./prisma-key-history.ts";
import { prismaSettlementStore } from "./prisma-settlement-store.ts";
import { prismaSignedTemplates } from "./prisma-signed-templates.ts";
import { prismaTimeLockStore } from "./prisma-time-lock-store.ts";

const HOUSEKEEPING_MS = 60_000;

/** Opens the signer's database; its connections close with the process. */
export async function openStores(runtime: ServiceRuntime, chains: { keys(): Iterable<string> }) {
  const { clock } = runtime;
  const { prisma, postgres } = await runtime.database(PrismaClient);
  // Connections of their own, so that reads of bindings and writes of records do not wait for each other.
  const bindings = postgresBindingStore(postgres, runtime.statements("binding"));

  const administration = runtime.administration(PrismaClient);

  const deleteExpired = deleteExpiredRows(postgres);
  runtime.every(HOUSEKEEPING_MS, "housekeeping", () => deleteExpired(clock.now()));

  return {
    bindings: asPort("bindings", bindings, { forget: false, forgetEverywhere: false }),
    effects: asPort("effects", prismaEffectStore(prisma, bindings), {
      record: (_account, effects) => effects.map(({ kind }) => kind).join(", "),
    }),
    addedKeys: prismaAddedKeys(prisma),
    recoveryKeys: prismaRecoveryKeys(prisma),
    revokedKeys: prismaRevokedKeys(prisma),
    signedTemplates: prismaSignedTemplates(prisma),
    signedCreations: asPort("signedCreations", postgresSignedCreations(postgres)),
    timeLocks: asPort("timeLocks", prismaTimeLockStore(prisma)),
    reservations: asPort("reservations", prismaSettlementStore(prisma), {
      settle: (_chain, executed) => (executed.length > 0 ? "paid" : ""),
    }),
    budgetUse: () => commonBudgetUse(postgres, clock.now()),
    auditRecords: postgresAuditStore(runtime.statements("record")),
    administration: {
      actions: createActionLog(administration.postgres, clock),
      readings: signerReadings(administration.postgres, chains, clock),
      exportLines: (until?: number) => exportAudit(administration.prisma, until),
      archives: postgresAuditArchives(administration.postgres, administration.prisma, clock),
    },
    auditReader: prismaAuditReader(prisma),
    checkpoints: prismaCheckpointStore(prisma),
  };
}
