import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, it, vi } from "vitest";
import { withSchemaEngine } from "./wasm-engine.ts";

const database = `engine_${randomBytes(4).toString("hex")}`;
const url = new URL(inject("postgresUrl"));
const admin = new pg.Client({ connectionString: url.href });
const clients: pg.Client[] = [];

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: Object.assign(new URL(url), { pathname: `/${database}` }).href });
  clients.push(client);
  await client.connect();
  return client;
}

const STEPS = [
  "CREATE TABLE busy (id int)",
  "ALTER TABLE busy ADD COLUMN name text; ALTER TABLE busy ADD COLUMN age int",
  'CREATE INDEX CONCURRENTLY "busy_age" ON "busy" ("age")',
];

/** Applies the first migrations; returns the names of those that were new. */
const apply = (count: number) =>
  withSchemaEngine({ url: Object.assign(new URL(url), { pathname: `/${database}` }).href }, async (engine) => {
    const { appliedMigrationNames } = await engine.applyMigrations({
      migrationsList: {
        baseDir: "/",
        lockfile: { path: "migration_lock.toml", content: 'provider = "postgresql"\n' },
        shadowDbInitScript: "",
        migrationDirectories: STEPS.slice(0, count).map((value, index) => ({
          path: `2026112300000${index}_step`,
          migrationFile: { path: "migration.sql", content: { tag: "ok", value } },
        })),
      },
      filters: { externalTables: [], externalEnums: [] },
    });
    return appliedMigrationNames;
  });

beforeAll(async () => {
  await admin.connect();
  await admin.query(`CREATE DATABASE ${database}`);
});
afterAll(async () => {
  for (const client of clients) await client.end();
  await admin.query(`DROP DATABASE ${database} WITH (FORCE)`);
  await admin.end();
});

it("a migration that needs a busy table lets others read it, and is applied once the table is free", async () => {
  await apply(1);
  const [busy, watcher, reader] = [await connect(), await connect(), await connect()];
  await busy.query("BEGIN");
  await busy.query("SELECT count(*) FROM busy");
  const migrating = apply(2);
  await vi.waitFor(async () => {
    const { rows } = await watcher.query("SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'busy'::regclass");
    expect(rows).toHaveLength(1);
  });
  // Behind the migration, which waits behind `busy`: without its time limit this would wait for `busy`, too.
  await reader.query("SET statement_timeout = 10000");
  await reader.query("SELECT count(*) FROM busy");
  await busy.query("COMMIT");
  expect(await migrating).toEqual(["20261123000001_step"]);
  expect((await reader.query("SELECT id, name, age FROM busy")).rows).toEqual([]);
  expect(await apply(2)).toEqual([]);
});

it("an index that is made beside others waits for older transactions, and replaces one that is not valid", async () => {
  await apply(2);
  const [old, watcher] = [await connect(), await connect()];
  await watcher.query("INSERT INTO busy (id, age) VALUES (1, 1), (2, 1)");
  await expect(watcher.query("CREATE UNIQUE INDEX CONCURRENTLY busy_age ON busy (age)")).rejects.toThrow("busy_age");
  await old.query("BEGIN");
  await old.query("UPDATE busy SET age = 2 WHERE id = 1");
  const migrating = apply(3);
  const waiting = () =>
    watcher.query(
      "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INDEX CONCURRENTLY%'",
    );
  await vi.waitFor(async () => expect((await waiting()).rowCount).toBe(1));
  // Longer than any other statement of a migration waits for a lock.
  await watcher.query("SELECT pg_sleep(2.5)");
  await old.query("COMMIT");
  expect(await migrating).toEqual(["20261123000002_step"]);
  const { rows } = await watcher.query(
    "SELECT indisvalid, indisunique FROM pg_index WHERE indexrelid = 'busy_age'::regclass",
  );
  expect(rows).toEqual([{ indisvalid: true, indisunique: false }]);
}, 30_000);
