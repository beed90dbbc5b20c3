import { type Postgres, sql } from "@countersign/postgres";
import type { SignedCreations } from "../domain/ports.ts";
import { xOf } from "./prisma-key-history.ts";

/** Keeps signed creations in Postgres: every replica binds the accounts that any replica signed. */
export const postgresSignedCreations = (postgres: Postgres): SignedCreations => ({
  record: ({ chainName, serverKeyVersion, accounts }, signedAt) =>
    postgres.transaction(async (tx) => {
      const accountIds = accounts.map(({ accountId }) => accountId);
      await tx.execute(sql`
        INSERT INTO signed_creation (account_id, chain_name, server_key_version, signed_at)
        SELECT account_id, ${chainName}, ${serverKeyVersion}::int, ${signedAt}::timestamptz
        FROM unnest(${accountIds}::uuid[]) AS n(account_id) ON CONFLICT DO NOTHING`);
      // A key that is known already stays unchanged.
      await tx.execute(sql`
        INSERT INTO added_key (account_id, chain_name, key_x, public_key, algorithm, source, first_signed_at, signed_at)
        SELECT account_id, ${chainName}, key_x, public_key, algorithm, 'creation', ${signedAt}::timestamptz,
          ${signedAt}::timestamptz
        FROM unnest(${accountIds}::uuid[], ${accounts.map(({ userKey }) => xOf(userKey.publicKey))}::text[],
          ${accounts.map(({ userKey }) => userKey.publicKey)}::text[],
          ${accounts.map(({ userKey }) => userKey.algorithm)}::text[]) AS n(account_id, key_x, public_key, algorithm)
        ON CONFLICT DO NOTHING`);
    }),
  has: async ({ accountId, chainName }, version) => {
    const signed = await postgres.query(sql`
      SELECT 1 FROM signed_creation
      WHERE account_id = ${accountId}::uuid AND chain_name = ${chainName} AND server_key_version = ${version}`);
    return signed.length > 0;
  },
});
