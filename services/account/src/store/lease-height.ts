import type { Queries } from "@countersign/postgres";
import type { Lease } from "../domain/ports.ts";

/**
 * Keeps the heights up to which chains were read (`key_watch`), or reported to the signer, and the leases of
 * those who do so.
 */
export function heightsIn(postgres: Queries, table: "key_watch" | "budget_settlement") {
  const statement = (name: string, text: string, values: readonly unknown[]) => ({
    name: `${name} of ${table}`,
    text: text.replace("TABLE", table),
    values,
  });
  return {
    // By the database's clock: those of replicas may differ by more than a lease lasts.
    async mayLease(chainName: string, owner: string): Promise<boolean> {
      const text = "SELECT 1 FROM TABLE WHERE chain_name = $1 AND lease_owner <> $2::uuid AND lease_until >= now()";
      return (await postgres.query(statement("others' leases", text, [chainName, owner]))).length === 0;
    },

    async lease(chainName: string, { owner, now, until }: Lease, begin: bigint) {
      const values = [chainName, owner, until.getTime() - now.getTime()];
      // Not one statement with ON CONFLICT: on a database of several nodes that cannot compare with now().
      const renew = `
        UPDATE TABLE SET lease_owner = $2::uuid, lease_until = now() + $3::int * interval '1 millisecond'
        WHERE chain_name = $1 AND (lease_owner = $2::uuid OR lease_until < now()) RETURNING height`;
      const [held] = await postgres.query<{ height: bigint }>(statement("renewal", renew, values));
      if (held) return held.height;
      const insert = `
        INSERT INTO TABLE (chain_name, lease_owner, lease_until, height)
        VALUES ($1, $2::uuid, now() + $3::int * interval '1 millisecond', $4::int8)
        ON CONFLICT (chain_name) DO NOTHING RETURNING height`;
      const [row] = await postgres.query<{ height: bigint }>(statement("first lease", insert, [...values, begin]));
      return row?.height;
    },

    async advance(chainName: string, { from, to }: { from: bigint; to: bigint }, on = postgres): Promise<boolean> {
      const text = "UPDATE TABLE SET height = $3::int8 WHERE chain_name = $1 AND height = $2::int8";
      return (await on.execute(statement("advance", text, [chainName, from, to]))) > 0;
    },
  };
}
