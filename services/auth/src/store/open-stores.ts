import { createActionLog } from "@countersign/admin-actions";
import { asPort } from "@countersign/core";
import type { ServiceRuntime } from "@countersign/runtime";
import { authReadings } from "./account-readings.ts";
import { deleteExpiredRows } from "./delete-expired-rows.ts";
import { PrismaClient } from "./generated/client.ts";
import { createLimits, type Limits } from "./limits.ts";
import { postgresBlockedKeyStore } from "./postgres-blocked-key-store.ts";
import { postgresChallengeStore } from "./postgres-challenge-store.ts";
import { postgresContactStore } from "./postgres-contact-store.ts";
import { postgresSessionStore } from "./postgres-session-store.ts";
import { postgresSignUpStore, readOpenSignUps } from "./postgres-sign-up-store.ts";
import { postgresTokenStateStore } from "./postgres-token-state-store.ts";
import { prismaAccessStore } from "./prisma-access-store.ts";
import { prismaAdminStore } from "./prisma-admin-store.ts";
import { prismaAttestationStore } from "./prisma-attestation-store.ts";
import { prismaExchangedCodeStore } from "./prisma-exchanged-code-store.ts";
import { prismaFreezeStore } from "./prisma-freeze-store.ts";
import { prismaHoldStore } from "./prisma-hold-store.ts";
import { prismaTokenKeyStore } from "./prisma-token-key-store.ts";
import { prismaTwoFactorSignInStore } from "./prisma-two-factor-sign-in-store.ts";

/** Opens auth's database; its connections close with the process. */
export async function openStores(runtime: ServiceRuntime, limits: Limits) {
  const { prisma, postgres } = await runtime.database(PrismaClient);
  // Waiting for the lock of an account takes no connections of others.
  const waiting = runtime.statements("locks");
  return {
    access: asPort("access", prismaAccessStore(prisma)),
    actions: createActionLog(postgres, runtime.clock),
    attestations: asPort("attestations", prismaAttestationStore(prisma)),
    admin: asPort("admin", prismaAdminStore(prisma, runtime.clock)),
    blockedKeys: postgresBlockedKeyStore(postgres),
    challenges: asPort("challenges", postgresChallengeStore(postgres, waiting)),
    codes: asPort("codes", prismaExchangedCodeStore(prisma, runtime.clock)),
    contacts: asPort("contacts", postgresContactStore(prisma, postgres)),
    deleteExpired: deleteExpiredRows(postgres),
    freezes: asPort("freezes", prismaFreezeStore(prisma)),
    limits: createLimits(postgres, limits, runtime.clock),
    holds: asPort("holds", prismaHoldStore(prisma)),
    readings: authReadings(postgres),
    openSignUps: readOpenSignUps(postgres),
    sessions: asPort("sessions", postgresSessionStore(prisma, postgres, waiting)),
    signIns: asPort("signIns", prismaTwoFactorSignInStore(prisma)),
    signUps: asPort("signUps", postgresSignUpStore(prisma, postgres), { mark: (_saga, steps) => steps.join() }),
    tokenKeys: asPort("tokenKeys", prismaTokenKeyStore(prisma)),
    identityKeys: asPort("identityKeys", prismaTokenKeyStore(prisma, "identityKey")),
    tokenState: asPort("tokenState", postgresTokenStateStore(postgres)),
  };
}
