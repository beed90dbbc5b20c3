import { type Postgres, sql } from "@countersign/postgres";
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

/** Reads contacts in Postgres, from the profiles of sign-ups. */
export const postgresContactStore = (prisma: PrismaClient, postgres: Postgres): ContactStore => ({
  async listEmails(accountIds) {
    const rows = await postgres.query<{ accountId: string; email: string }>(sql`
      SELECT account_id AS "accountId", email FROM identity WHERE account_id = ANY(${accountIds}::uuid[])`);
    const emails = new Map(rows.map(({ accountId, email }) => [accountId, email]));
    return accountIds.map((accountId) => emails.get(accountId) ?? "");
  },
  appsOf: (accountId, sessionId) => appsOf(prisma, accountId, sessionId),
});
