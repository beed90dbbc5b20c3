import type { AccountOnChain } from "../domain/ports.ts";
import type { Prisma } from "./generated/client.ts";

/** A key and its negation have one holder, and one x. */
const xOf = (publicKey: string): string => publicKey.slice(0, 64);

/** Revoked keys in Postgres: no replica signs the addition of a key whose revocation another one signed. */
export const prismaRevokedKeys = (prisma: Pick<Prisma.TransactionClient, "revokedKey">) => ({
  async record({ accountId, chainName }: AccountOnChain, publicKey: string, signedAt: Date): Promise<void> {
    const data = [{ accountId, chainName, keyX: xOf(publicKey), signedAt }];
    await prisma.revokedKey.createMany({ data, skipDuplicates: true });
  },
  has: async ({ accountId, chainName }: AccountOnChain, publicKey: string): Promise<boolean> =>
    (await prisma.revokedKey.count({ where: { accountId, chainName, keyX: xOf(publicKey) } })) > 0,
});
