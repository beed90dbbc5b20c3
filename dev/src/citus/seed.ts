import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Failure } from "@countersign/build/fail.ts";
import { type ServiceName, services } from "@countersign/build/paths.ts";
import { adminUrlOf, type Citus } from "@countersign/local-stack/citus.ts";
import { withClient } from "@countersign/migrations/execute-sql.ts";
import type pg from "pg";
import { amountOf } from "./amount.ts";
import { MATERIALS, PLACED_BY, type PlacedBy, SEED_ROWS } from "./seed-rows.ts";
import { onTemporaryCitus } from "./temporary.ts";

const ACCOUNTS_PER_PART = 200_000;

/**
 * For nodes that are filled: statistics at the end. Postgres' log keeps its default of 1 GB for each node, so
 * that 10^7 accounts fit on a disk of 70 GB.
 */
export const SEED_SETTINGS = ["shared_buffers=1GB", "autovacuum=off"];

interface Shard {
  table: string;
  id: string;
  port: number;
  /** The hashes of the values that it has, both included. */
  first: number;
  last: number;
}

/** Runs `work` as the superuser in a service's database on a node. */
const inDatabase = <T>(adminUrl: string, service: ServiceName, work: (client: pg.Client) => Promise<T>): Promise<T> =>
  withClient(adminUrlOf(adminUrl, service), work);

const shardsOf = (citus: Citus, service: ServiceName): Promise<Shard[]> =>
  inDatabase(citus.adminUrl, service, async (client) => {
    const { rows } = await client.query<Shard>(`
      SELECT s.logicalrelid::text AS table, s.shardid::text AS id, n.nodeport AS port,
        s.shardminvalue::int AS first, s.shardmaxvalue::int AS last
      FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid) JOIN pg_dist_node n USING (groupid)
      WHERE s.shardminvalue IS NOT NULL ORDER BY s.shardminvalue::int`);
    return rows;
  });

/** Makes the table of the accounts from `from` up to `to` whose value `by` is on these shards. */
const MAKE_PART = (by: PlacedBy, shards: readonly Shard[], from: number, to: number): string => `
  CREATE TEMPORARY TABLE part_${by} AS
  WITH each AS MATERIALIZED (
    SELECT n, ${Object.entries(PLACED_BY).map(([name, value]) => `${value} AS ${name}`)}
    FROM generate_series(${from}, ${to - 1}) AS n
  ), placed AS MATERIALIZED (SELECT *, worker_hash(${by}) AS hash FROM each)
  SELECT placed.*, first, ${MATERIALS}
  FROM placed JOIN (VALUES ${shards.map(({ first, last }) => `(${first}, ${last})`)}) AS s (first, last)
    ON hash BETWEEN first AND last`;

/** Writes the rows of a worker's own shards on the worker itself: nothing passes the coordinator. */
async function fillWorker(client: pg.Client, service: ServiceName, own: readonly Shard[], from: number, to: number) {
  const rows = SEED_ROWS.filter((each) => each.service === service);
  for (const by of new Set(rows.map((each) => each.by))) {
    const tables = rows.filter((each) => each.by === by);
    const shards = own.filter(({ table }) => table === tables[0]!.table);
    await client.query(MAKE_PART(by, shards, from, to));
    for (const { table, columns, values } of tables)
      for (const { id, first } of own.filter((shard) => shard.table === table))
        await client.query(
          `INSERT INTO "${table}_${id}" (${columns}) SELECT ${values} FROM part_${by} WHERE first = ${first}`,
        );
    await client.query(`DROP TABLE part_${by}`);
  }
}

/** Inserts so many accounts, on all workers at once. */
async function seedAccounts(citus: Citus, count: number): Promise<void> {
  for (const service of services) {
    const shards = await shardsOf(citus, service);
    const workers = [...Map.groupBy(shards, ({ port }) => port)].map(async ([port, own]) => {
      const url = new URL(citus.adminUrl);
      url.port = String(port);
      await inDatabase(url.href, service, async (client) => {
        // Foreign keys are not checked: these rows are as they refer to each other.
        await client.query(`SET citus.enable_manual_changes_to_shards = on; SET temp_buffers = '128MB';
          SET session_replication_role = replica`);
        for (let first = 0; first < count; first += ACCOUNTS_PER_PART)
          await fillWorker(client, service, own, first, Math.min(first + ACCOUNTS_PER_PART, count));
      });
    });
    await Promise.all(workers);
    await inDatabase(citus.adminUrl, service, (client) => client.query("ANALYZE"));
  }
}

/** Checks that the coordinator finds rows by the values that they are distributed by, and all of them. */
async function checkSeed(citus: Citus, count: number): Promise<void> {
  for (const service of services)
    await inDatabase(citus.adminUrl, service, async (client) => {
      for (const { table, by, columns, each = 1 } of SEED_ROWS.filter((each) => each.service === service)) {
        const column = by === "account" ? (table === "account" ? "id" : "account_id") : by;
        const n = Math.floor(Math.random() * count);
        const { rows } = await client.query(
          `SELECT (SELECT ${PLACED_BY[by]} FROM (VALUES (${n})) AS v (n))::text AS value`,
        );
        const one = await client.query(`SELECT ${columns} FROM ${table} WHERE ${column} = $1`, [rows[0].value]);
        const all = await client.query<{ n: string }>(`SELECT count(*)::text AS n FROM ${table}`);
        if (one.rowCount !== each || Number(all.rows[0]!.n) !== each * count)
          throw new Failure(`${service}.${table}: ${all.rows[0]!.n} rows of ${each * count}, ${one.rowCount} of one`);
      }
    });
}

interface TableSize {
  table: string;
  /** Of all nodes, in bytes. */
  total: number;
  rows: number;
}

/** Returns the sizes of all tables, the largest first: with their indexes, and without. */
async function sizesOf(citus: Citus): Promise<TableSize[]> {
  const sizes = await Promise.all(
    services.map((service) =>
      inDatabase(citus.adminUrl, service, async (client) => {
        const { rows } = await client.query<{ name: string; total: string; rows: string }>(`
          SELECT logicalrelid::text AS name, citus_total_relation_size(logicalrelid)::text AS total,
            citus_table_size(logicalrelid)::text AS rows FROM pg_dist_partition`);
        return rows.map(({ name, ...each }) => ({
          table: `${service}.${name}`,
          total: Number(each.total),
          rows: Number(each.rows),
        }));
      }),
    ),
  );
  return sizes.flat().sort((a, b) => b.total - a.total);
}

/** Returns the processor time of the nodes and of their sessions that have ended, in seconds. */
function processorSeconds({ nodes }: Citus): number {
  // utime, stime, cutime and cstime, in ticks of which Linux has 100 a second.
  const ticks = nodes.flatMap(({ child }) =>
    readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ").at(-1)!.split(" ").slice(11, 15).map(Number),
  );
  return ticks.reduce((sum, each) => sum + each, 0) / 100;
}

/** Fills an empty Citus, checks it, and says how long it took and how large it is. */
export async function fill(citus: Citus, count: number): Promise<{ seconds: number; bytes: number }> {
  const started = performance.now();
  const before = processorSeconds(citus);
  await seedAccounts(citus, count);
  const seconds = (performance.now() - started) / 1_000;
  const processor = processorSeconds(citus) - before;
  await checkSeed(citus, count);
  const sizes = await sizesOf(citus);
  const bytes = sizes.reduce((sum, { total }) => sum + total, 0);
  for (const { table, total, rows } of sizes.filter((size) => size.total / count >= 10))
    console.log(
      `${table}: ${Math.round(total / count)} bytes for an account, ${Math.round(rows / count)} without indexes`,
    );
  console.log(
    `${count} accounts in ${seconds.toFixed(0)} s, ${processor.toFixed(0)} s of the processor: ${(bytes / 2 ** 30).toFixed(2)} GiB, ${Math.round(bytes / count)} bytes each`,
  );
  return { seconds, bytes };
}

/** `seed <accounts>`: fills a Citus of its own, and compares it with the goals. */
export async function seed(args: readonly string[]): Promise<number> {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true });
  const count = amountOf("seed <accounts>", positionals[0] ?? "1e6", "accounts");
  return onTemporaryCitus(async (citus) => {
    const { seconds, bytes } = await fill(citus, count);
    // The goals of 10^7 accounts, in proportion for fewer.
    const share = count / 1e7;
    return seconds <= Math.max(60, 1_200 * share) && bytes <= 15e9 * Math.max(share, 0.01) ? 0 : 1;
  }, SEED_SETTINGS);
}
