import { createTestDatabase, type TestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { deletionOf, openPostgres, type Postgres, type Queries, sql } from "./index.ts";

let database: TestDatabase;
let postgres: Postgres;
beforeAll(async () => {
  database = await createTestDatabase("signer");
  postgres = openPostgres(database.url);
});
afterAll(async () => {
  await postgres.close();
  await database.drop();
});

it("on a database of several nodes a deletion takes no more rows than asked for where all end at once", async () => {
  // Windows of accounts follow each other from 1970 on: those of one length all end at the same moment.
  await postgres.execute(sql`
    INSERT INTO budget_usage (chain_name, budget, ends_at, count, computation, fees)
    SELECT chain, 'account/' || n || '/86400/1', '2026-11-20T00:00:00Z', 1, 1, 1
    FROM generate_series(1, 125) AS n, unnest(ARRAY['one', 'another']) AS chain`);
  // As Citus, for this code.
  const nodes: Queries = {
    query: (statement) =>
      statement.text.includes("pg_dist_partition")
        ? (Promise.resolve([{ distributed: true }]) as never)
        : postgres.query(statement),
    execute: (statement) => postgres.execute(statement),
  };
  const deleteBatch = deletionOf(nodes, "budget_usage", sql`ends_at < ${new Date("2026-11-21")} ORDER BY ends_at`);
  expect([await deleteBatch(100), await deleteBatch(100), await deleteBatch(100)]).toEqual([100, 100, 50]);
  expect(await deleteBatch(100)).toBe(0);
});
