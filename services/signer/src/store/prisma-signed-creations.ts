import type { SignedCreations } from "../domain/ports.ts";
import type { PrismaClient } from "./generated/client.ts";

/** Signed creations in Postgres: what one replica has signed every other one binds. */
export const prismaSignedCreations = (prisma: PrismaClient): SignedCreations => ({
  async note(chainName, accountIds, serverKeyVersion, signedAt) {
    const data = accountIds.map((accountId) => ({ accountId, chainName, serverKeyVersion, signedAt }));
    await prisma.signedCreation.createMany({ data, skipDuplicates: true });
  },
  has: async ({ accountId, chainName }, serverKeyVersion) =>
    (await prisma.signedCreation.count({ where: { accountId, chainName, serverKeyVersion } })) > 0,
});
