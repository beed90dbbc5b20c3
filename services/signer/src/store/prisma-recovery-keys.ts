import type { PublicKey } from "@countersign/keys";
import type { AccountOnChain } from "../domain/ports.ts";
import type { Prisma } from "./generated/client.ts";

/** Recovery keys in Postgres. */
export const prismaRecoveryKeys = (prisma: Pick<Prisma.TransactionClient, "recoveryKey">) => ({
  async record({ accountId, chainName }: AccountOnChain, key: PublicKey, signedAt: Date): Promise<void> {
    const { publicKey, algorithm } = key;
    const data = [{ accountId, chainName, publicKey, algorithm, signedAt }];
    await prisma.recoveryKey.createMany({ data, skipDuplicates: true });
  },
  async of({ accountId, chainName }: AccountOnChain): Promise<PublicKey[]> {
    const rows = await prisma.recoveryKey.findMany({ where: { accountId, chainName } });
    return rows.map(({ publicKey, algorithm }) => ({ publicKey, algorithm: algorithm as PublicKey["algorithm"] }));
  },
});
