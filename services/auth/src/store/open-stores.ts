import type { ServiceRuntime } from "@countersign/runtime";
import { deleteExpiredRows } from "./delete-expired-rows.ts";
import { PrismaClient } from "./generated/client.ts";
import { postgresChallengeStore } from "./postgres-challenge-store.ts";
import { prismaAccessStore } from "./prisma-access-store.ts";
import { prismaContactStore } from "./prisma-contact-store.ts";
import { prismaExchangedCodeStore } from "./prisma-exchanged-code-store.ts";
import { prismaFreezeStore } from "./prisma-freeze-store.ts";
import { prismaHoldStore } from "./prisma-hold-store.ts";
import { prismaSessionStore } from "./prisma-session-store.ts";
import { prismaSignUpStore } from "./prisma-sign-up-store.ts";
import { prismaTokenKeyStore } from "./prisma-token-key-store.ts";
import { prismaTokenStateStore } from "./prisma-token-state-store.ts";
import { prismaTwoFactorSignInStore } from "./prisma-two-factor-sign-in-store.ts";

/** Opens auth's database; its connections close with the process. */
export function openStores(runtime: ServiceRuntime) {
  const { prisma, postgres } = runtime.database(PrismaClient);
  // A code is exchanged inside a transaction: its own connections keep a slow provider from blocking others.
  const { prisma: codes } = runtime.connections(PrismaClient, 3);
  return {
    access: prismaAccessStore(prisma),
    challenges: postgresChallengeStore(postgres),
    codes: prismaExchangedCodeStore(codes, runtime.clock),
    contacts: prismaContactStore(prisma),
    deleteExpired: deleteExpiredRows(prisma),
    freezes: prismaFreezeStore(prisma),
    holds: prismaHoldStore(prisma),
    sessions: prismaSessionStore(prisma, postgres),
    signIns: prismaTwoFactorSignInStore(prisma),
    signUps: prismaSignUpStore(prisma, postgres),
    tokenKeys: prismaTokenKeyStore(prisma),
    tokenState: prismaTokenStateStore(prisma),
  };
}
