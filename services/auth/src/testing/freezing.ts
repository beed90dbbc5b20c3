import type { VerifiedToken } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { freezeAccount, unfreezeAccount } from "../domain/freeze/freeze-account.ts";
import type { Session } from "../domain/sessions/session.ts";
import { postgresSessionStore } from "../store/postgres-session-store.ts";
import { prismaFreezeStore } from "../store/prisma-freeze-store.ts";
import { clock, postgres, prisma, someSession } from "./store-fixture.ts";

export const TIME_LOCKS = { deviceMs: 60_000, recoveryMs: 300_000 };

/** Returns a device of the account, with a session since `createdAt`; or its recovery key. */
export async function phoneOf(accountId: string, change: Partial<Session> = {}): Promise<Session> {
  const key = generateKeyPair().publicKey;
  const createdAt = new Date(clock.now().getTime() - 1000);
  const session = someSession({ accountId, deviceKey: key, accountKey: key, createdAt, ...change });
  await postgresSessionStore(prisma, postgres).begin(session, "");
  return session;
}

const tokenOf = ({ accountId, deviceKey, scope }: Session) => ({ accountId, deviceKey, scope }) as VerifiedToken;

/** The commands on the real store. */
export const freezing = {
  freeze: (by: Session) => freezeAccount({ freezes: prismaFreezeStore(prisma), clock })(tokenOf(by), "r"),
  unfreeze: (by: Session) =>
    unfreezeAccount({ freezes: prismaFreezeStore(prisma), clock, timeLocks: TIME_LOCKS })(tokenOf(by), "r"),
};
