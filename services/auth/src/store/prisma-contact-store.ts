import type { ContactStore } from "../domain/login.ts";
import type { PrismaClient } from "./generated/client.ts";

/** Reads contacts in Postgres, from the profile of the sign-up. */
export function prismaContactStore(prisma: PrismaClient): ContactStore {
  return {
    async emailOf(accountId) {
      return (await prisma.identity.findUnique({ where: { accountId }, select: { email: true } }))?.email;
    },
  };
}
