import type { ContactStore } from "../domain/login.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";

/** Returns the apps that an account signed up in or has sessions of; or the app of one of its sessions. */
export async function appsOf(db: Prisma.TransactionClient, accountId: string, id?: string): Promise<string[]> {
  const select = { appId: true };
  const where = id === undefined ? { accountId } : { accountId, id };
  const sessions = await db.session.groupBy({ by: ["appId"], where });
  const signUps = id === undefined ? await db.signUp.findMany({ where: { accountId }, select }) : [];
  return [...new Set([...signUps, ...sessions].map(({ appId }) => appId))];
}

/** Reads contacts in Postgres, from the profile of the sign-up. */
export function prismaContactStore(prisma: PrismaClient): ContactStore {
  return {
    async emailOf(accountId) {
      return (await prisma.identity.findUnique({ where: { accountId }, select: { email: true } }))?.email;
    },
    appsOf: (accountId, sessionId) => appsOf(prisma, accountId, sessionId),
  };
}
