import { createShardBatcher, type Postgres, sql } from "@countersign/postgres";
import type { AccountOnChain, SignedCreations } from "../domain/ports.ts";
import { xOf } from "./prisma-key-history.ts";

type SignedVersion = AccountOnChain & { readonly version: number };

const keyOf = ({ accountId, chainName, version }: SignedVersion) => `${accountId}/${chainName}/${version}`;

/** Keeps signed creations in Postgres: every replica binds the accounts that any replica signed. */
export function postgresSignedCreations(postgres: Postgres): SignedCreations {
  /** The accounts of one creation come together. */
  const has = createShardBatcher(
    postgres,
    ({ accountId }: SignedVersion) => accountId,
    async (asked): Promise<boolean[]> => {
      const signed = await postgres.query<SignedVersion>(sql`
        SELECT account_id AS "accountId", chain_name AS "chainName", server_key_version AS version
        FROM signed_creation WHERE account_id = ANY(${asked.map(({ accountId }) => accountId)}::uuid[])`);
      const keys = new Set(signed.map(keyOf));
      return asked.map((each) => keys.has(keyOf(each)));
    },
  );
  return {
    has: (account, version) => has({ ...account, version }),
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
  };
}
