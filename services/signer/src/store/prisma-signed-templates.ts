import type { SignedTemplates } from "../domain/ports.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";

const MAX_BIGINT = 2n ** 63n - 1n;

type Account = Parameters<SignedTemplates["has"]>[0];

/** A number beyond Postgres' is beyond any account's: what is signed for it never runs. */
const idOf = ({ accountId, chainName, serverKeyIndex: keyIndex }: Account, number: bigint) =>
  number > MAX_BIGINT ? undefined : { accountId, chainName, keyIndex, number };

/** Sequence numbers in Postgres: what one replica has signed every other one voids. */
export const prismaSignedTemplates = (prisma: PrismaClient): SignedTemplates => ({
  async note(account, number, signedAt) {
    const id = idOf(account, number);
    if (!id) return;
    await prisma.signedTemplate.createMany({ data: [{ ...id, signedAt }], skipDuplicates: true });
    // Signed again it is as young as this.
    await prisma.signedTemplate.updateMany({ where: { ...id, signedAt: { lt: signedAt } }, data: { signedAt } });
  },
  async has(account, number) {
    const where: Prisma.SignedTemplateWhereInput | undefined = idOf(account, number);
    return where !== undefined && (await prisma.signedTemplate.count({ where })) > 0;
  },
});

/** Numbers whose transactions' reference blocks are long too old. */
export async function pruneSignedTemplates(prisma: PrismaClient, before: Date): Promise<void> {
  await prisma.signedTemplate.deleteMany({ where: { signedAt: { lt: before } } });
}
