import { asPort } from "@countersign/core";
import { openPostgres } from "@countersign/postgres";
import type { ServiceRuntime } from "@countersign/runtime";
import { deleteExpiredRows } from "./delete-expired-rows.ts";
import { PrismaClient } from "./generated/client.ts";
import { postgresAuditStore } from "./postgres-audit-store.ts";
import { postgresBindingStore } from "./postgres-binding-store.ts";
import { prismaAuditReader } from "./prisma-audit-reader.ts";
import { commonBudgetUse } from "./prisma-budget-usage.ts";
import { prismaCheckpointStore } from "./prisma-checkpoint-store.ts";
import { prismaEffectStore } from "./prisma-effect-store.ts";
import { prismaAddedKeys, prismaRecoveryKeys, prismaRevokedKeys } from "./prisma-key-history.ts";
import { prismaSettlementStore } from "./prisma-settlement-store.ts";
import { prismaSignedCreations } from "./prisma-signed-creations.ts";
import { prismaSignedTemplates } from "./prisma-signed-templates.ts";
import { prismaTimeLockStore } from "./prisma-time-lock-store.ts";

const HOUSEKEEPING_MS = 60_000;

/** Opens the signer's database; its connections close with the process. */
export function openStores(runtime: ServiceRuntime, databaseUrl: string) {
  const { logger, clock, onClose } = runtime;
  const { prisma, postgres } = runtime.database(PrismaClient);
  /**
   * Opens connections of its own, so that reads of bindings and writes of records do not wait for each other.
   */
  const openConnections = (name: string) => {
    const onError = (err: unknown) => logger.warn({ err }, "Postgres connection lost");
    const connections = openPostgres(databaseUrl, { connections: 2, onError });
    onClose(name, () => connections.close());
    return connections;
  };
  const bindings = postgresBindingStore(postgres, openConnections("binding queries"));

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
    signedCreations: asPort("signedCreations", prismaSignedCreations(prisma)),
    timeLocks: asPort("timeLocks", prismaTimeLockStore(prisma)),
    reservations: asPort("reservations", prismaSettlementStore(prisma), {
      settle: (_chain, executed) => (executed.length > 0 ? "paid" : ""),
    }),
    budgetUse: () => commonBudgetUse(prisma, clock.now()),
    auditRecords: postgresAuditStore(openConnections("record queries")),
    auditReader: prismaAuditReader(prisma),
    checkpoints: prismaCheckpointStore(prisma),
  };
}
