import type { SignedCreations } from "../domain/ports.ts";
import type { PrismaClient } from "./generated/client.ts";
import { creationRows } from "./prisma-key-history.ts";

/** Keeps signed creations in Postgres: every replica binds the accounts that any replica signed. */
export const prismaSignedCreations = (prisma: PrismaClient): SignedCreations => ({
  async record({ chainName, serverKeyVersion, accounts }, signedAt) {
    const creations = accounts.map(({ accountId }) => ({ accountId, chainName, serverKeyVersion, signedAt }));
    await prisma.$transaction([
      prisma.signedCreation.createMany({ data: creations, skipDuplicates: true }),
      prisma.addedKey.createMany({ data: creationRows(chainName, accounts, signedAt), skipDuplicates: true }),
    ]);
  },
  has: async ({ accountId, chainName }, serverKeyVersion) =>
    (await prisma.signedCreation.count({ where: { accountId, chainName, serverKeyVersion } })) > 0,
});
