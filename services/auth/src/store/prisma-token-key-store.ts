import type { StoredTokenKey, TokenKeyStore } from "../tokens/token-keys.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";

async function list(db: Prisma.TransactionClient, since: Date): Promise<StoredTokenKey[]> {
  const rows = await db.tokenKey.findMany({ where: { signsUntil: { gt: since } }, orderBy: { signsFrom: "asc" } });
  return rows.map((row) => ({ ...row, publicJwk: row.publicJwk as Record<string, string> }));
}

/** Keeps token keys in Postgres. */
export function prismaTokenKeyStore(prisma: PrismaClient): TokenKeyStore {
  return {
    list: (since) => list(prisma, since),
    exclusively: (work) =>
      prisma.$transaction(
        async (tx) => {
          await tx.$executeRaw`SELECT FROM token_key_lock FOR UPDATE`;
          return work({
            list: (since) => list(tx, since),
            insert: async (key) => {
              await tx.tokenKey.create({ data: { ...key, encryptedPrivate: Uint8Array.from(key.encryptedPrivate) } });
            },
            update: async (kid, encryptedPrivate) => {
              await tx.tokenKey.update({
                where: { kid },
                data: { encryptedPrivate: Uint8Array.from(encryptedPrivate) },
              });
            },
          });
        },
        // All replicas come at once when they start.
        { maxWait: 10_000, timeout: 10_000 },
      ),
  };
}
