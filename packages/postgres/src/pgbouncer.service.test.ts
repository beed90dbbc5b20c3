import { createTestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { MAX_CONNECTIONS } from "@countersign/local-stack/testing/postgres-connections.ts";
import pg from "pg";
import { expect, inject, it } from "vitest";
import { openPostgres, sql } from "./index.ts";

const REPLICAS = 20;
/** A twentieth of the 80 that deploy/pgbouncer.ini gives to twenty replicas. */
const POOL_SIZE = 4;

/** Runs only where CS_TEST_PGBOUNCER is set: see vitest.config.ts. */
it("twenty replicas share a pool, with their time limits", {
  timeout: 60_000,
}, async () => {
  const database = await createTestDatabase("auth");
  const replicas = Array.from({ length: REPLICAS }, () =>
    openPostgres(database.url, { connections: MAX_CONNECTIONS.auth }),
  );
  const direct = new pg.Client({ connectionString: inject("postgresUrl") });
  await direct.connect();
  const counts: number[] = [];
  const name = new URL(database.url).pathname.slice(1);
  const count = async () => {
    const { rows } = await direct.query(`SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = '${name}'`);
    counts.push(rows[0].n);
  };
  const transaction = (at: number) =>
    replicas[at % REPLICAS]!.transaction(async (tx) => {
      await tx.execute(sql`INSERT INTO rate_limit (key, points, expire) VALUES (${`${at}`}, 1, 0)`);
      await tx.query(sql`SELECT pg_sleep(0.01)`);
    }, 30_000);
  const work = Promise.all(Array.from({ length: REPLICAS * MAX_CONNECTIONS.auth * 2 }, (_, at) => transaction(at)));
  const counting = setInterval(() => void count(), 50);
  await work;
  clearInterval(counting);
  const limits = sql`
    SELECT current_setting('statement_timeout') AS statement,
      current_setting('idle_in_transaction_session_timeout') AS idle`;
  for (const rows of await Promise.all(replicas.map((replica) => replica.query(limits))))
    expect(rows).toEqual([{ statement: "10s", idle: "30s" }]);
  expect(Math.max(...counts)).toBe(POOL_SIZE);
  await Promise.all(replicas.map((replica) => replica.close()));
  await direct.end();
  await database.drop();
});
