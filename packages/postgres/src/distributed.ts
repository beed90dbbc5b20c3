import { type Statement, sql } from "./statement.ts";

interface Queries {
  query<Row>(statement: Statement): Promise<Row[]>;
}

/** Returns whether a database has several nodes. */
export async function isDistributed({ query }: Queries): Promise<boolean> {
  const [row] = await query<{ distributed: boolean }>(sql`
    SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS distributed`);
  return row!.distributed;
}
