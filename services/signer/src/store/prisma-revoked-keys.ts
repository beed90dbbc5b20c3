import type { RevokedKeys } from "../domain/revoked-keys.ts";
import type { PrismaClient } from "./generated/client.ts";

/** A key and its negation have one holder, and one x. */
const xOf = (publicKey: string): string => publicKey.slice(0, 64);

/** Revoked keys in Postgres: what one replica signed away another one does not bring back. */
export const prismaRevokedKeys = (prisma: PrismaClient): RevokedKeys => ({
  async remember({ accountId, chainName }, publicKey, signedAt) {
    const data = [{ accountId, chainName, keyX: xOf(publicKey), signedAt }];
    await prisma.revokedKey.createMany({ data, skipDuplicates: true });
  },
  has: async ({ accountId, chainName }, publicKey) =>
    (await prisma.revokedKey.count({ where: { accountId, chainName, keyX: xOf(publicKey) } })) > 0,
});
