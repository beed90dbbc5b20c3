import type { StoredTokenKey, TokenKeyStore } from "../tokens/token-keys.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";

type Table = Prisma.TransactionClient["tokenKey"];

async function list(table: Table, since: Date): Promise<StoredTokenKey[]> {
  const rows = await table.findMany({ where: { signsUntil: { gt: since } }, orderBy: { signsFrom: "asc" } });
  return rows.map((row) => ({ ...row, publicJwk: row.publicJwk as Record<string, string> }));
}

/** Keeps token keys in Postgres, or in a table like theirs the keys of identity tokens. */
export function prismaTokenKeyStore(
  prisma: PrismaClient,
  name: "tokenKey" | "identityKey" = "tokenKey",
): TokenKeyStore {
  // Both tables have the same columns.
  const tableOf = (db: Prisma.TransactionClient) => db[name] as Table;
  return {
    list: (since) => list(tableOf(prisma), since),
    exclusively: (work) =>
      prisma.$transaction(
        async (tx) => {
          await tx.$executeRaw`SELECT FROM token_key_lock FOR UPDATE`;
          const table = tableOf(tx);
          return work({
            list: (since) => list(table, since),
            insert: async (key) => {
              await table.create({ data: { ...key, encryptedPrivate: Uint8Array.from(key.encryptedPrivate) } });
            },
            update: async (kid, encryptedPrivate) => {
              await table.update({
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
