import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { Socket } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import type { SchemaEngine } from "@prisma/schema-engine-wasm";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, it, vi } from "vitest";
import { withSchemaEngine } from "./wasm-engine.ts";

const database = `engine_${randomBytes(4).toString("hex")}`;
const url = new URL(inject("postgresUrl"));
const admin = new pg.Client({ connectionString: url.href });
const clients: pg.Client[] = [];

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl() });
  clients.push(client);
  await client.connect();
  return client;
}

const STEPS = [
  "CREATE TABLE busy (id int)",
  "ALTER TABLE busy ADD COLUMN name text; ALTER TABLE busy ADD COLUMN age int",
  'CREATE INDEX CONCURRENTLY "busy_age" ON "busy" ("age")',
  "ALTER TABLE busy ADD COLUMN email text",
  "ALTER TABLE busy ADD COLUMN phone text; UPDATE busy SET age = age + 1 -- Not to be done twice",
  "UPDATE busy SET age = age + 1",
  'CREATE INDEX CONCURRENTLY "busy_name" ON "busy" ("name")',
  'DROP INDEX CONCURRENTLY "busy_name"',
  "ALTER TABLE busy ADD COLUMN town text",
  "ALTER TABLE nowhere ADD COLUMN town text",
];

const databaseUrl = () => Object.assign(new URL(url), { pathname: `/${database}` }).href;

/** Returns the first migrations for the engine. */
const input = (count: number): Parameters<SchemaEngine["applyMigrations"]>[0] => ({
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

/** Applies the first migrations; returns the names of those that were new. */
const apply = (count: number) =>
  withSchemaEngine({ url: databaseUrl() }, async (engine) => {
    const { appliedMigrationNames } = await engine.applyMigrations(input(count));
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

it("a connection that says nothing while an index is made is kept by the network", async () => {
  const keepAlive = vi.spyOn(Socket.prototype, "setKeepAlive");
  await apply(0);
  expect(keepAlive).toHaveBeenCalledWith(true, 10_000);
  keepAlive.mockRestore();
});

it("a migration that needs a busy table lets others read it, and is applied once the table is free", async () => {
  await apply(1);
  const [busy, watcher, reader] = [await connect(), await connect(), await connect()];
  await busy.query("BEGIN");
  await busy.query("SELECT count(*) FROM busy");
  const migrating = apply(2);
  const blocked = () => watcher.query("SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'busy'::regclass");
  await expect.poll(async () => (await blocked()).rowCount).toBe(1);
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
  await expect.poll(async () => (await waiting()).rowCount).toBe(1);
  // Longer than any other statement of a migration waits for a lock.
  await watcher.query("SELECT pg_sleep(2.5)");
  await old.query("COMMIT");
  expect(await migrating).toEqual(["20261123000002_step"]);
  const { rows } = await watcher.query(
    "SELECT indisvalid, indisunique FROM pg_index WHERE indexrelid = 'busy_age'::regclass",
  );
  expect(rows).toEqual([{ indisvalid: true, indisunique: false }]);
}, 30_000);

/** Has a transaction read the table until it is committed, and another connection to look on. */
async function busyTable() {
  const [busy, watcher] = [await connect(), await connect()];
  await busy.query("BEGIN");
  await busy.query("SELECT count(*) FROM busy");
  return { busy, watcher };
}

/** Waits until the migration waits for a lock on the table; returns the process of its connection. */
const waitingFor = async (watcher: pg.Client): Promise<number> => {
  const waiting = () =>
    watcher.query<{ pid: number }>("SELECT pid FROM pg_locks WHERE NOT granted AND relation = 'busy'::regclass");
  await expect.poll(async () => (await waiting()).rowCount).toBe(1);
  return (await waiting()).rows[0]!.pid;
};

it("a migration lets others read a table that stays busy each time that it tries again", async () => {
  await apply(3);
  const { busy, watcher } = await busyTable();
  const migrating = apply(4);
  const free = () =>
    vi.waitFor(
      async () => {
        const { rowCount } = await watcher.query(
          "SELECT FROM pg_locks WHERE NOT granted AND relation = 'busy'::regclass",
        );
        expect(rowCount).toBe(0);
      },
      { timeout: 5_000 },
    );
  const first = await waitingFor(watcher);
  await free();
  // On the same connection: the lock that keeps other runs out is the connection's.
  expect(await waitingFor(watcher)).toBe(first);
  await free();
  await busy.query("COMMIT");
  expect(await migrating).toEqual(["20261123000003_step"]);
}, 30_000);

it("a migration that was interrupted is applied by the next run", async () => {
  await apply(4);
  const { busy, watcher } = await busyTable();
  const interrupted = apply(5);
  await watcher.query("SELECT pg_terminate_backend($1)", [await waitingFor(watcher)]);
  await expect(interrupted).rejects.toThrow();
  await busy.query("COMMIT");
  expect(await apply(5)).toEqual(["20261123000004_step"]);
  expect((await watcher.query("SELECT age FROM busy ORDER BY id")).rows).toEqual([{ age: 3 }, { age: 2 }]);
}, 30_000);

const interruptEach = (on: pg.Client) =>
  on.query(`
    CREATE OR REPLACE FUNCTION interrupt() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'interrupted'; END $$;
    CREATE TRIGGER interrupt BEFORE UPDATE OF applied_steps_count ON _prisma_migrations
      FOR EACH ROW EXECUTE FUNCTION interrupt()`);

it("a migration that was interrupted after its commit is not applied twice", async () => {
  await apply(5);
  const watcher = await connect();
  await interruptEach(watcher);
  await expect(apply(6)).rejects.toThrow("interrupted");
  await expect(apply(7)).rejects.toThrow("interrupted");
  await watcher.query("DROP TRIGGER interrupt ON _prisma_migrations");
  expect(await apply(7)).toEqual(["20261123000006_step"]);
  await interruptEach(watcher);
  await expect(apply(8)).rejects.toThrow("interrupted");
  await watcher.query("DROP TRIGGER interrupt ON _prisma_migrations");
  expect(await apply(8)).toEqual(["20261123000007_step"]);
  expect((await watcher.query("SELECT age FROM busy ORDER BY id")).rows).toEqual([{ age: 4 }, { age: 3 }]);
}, 30_000);

it("a run waits for another one, and leaves its migration alone", async () => {
  await apply(8);
  const { busy, watcher } = await busyTable();
  const first = apply(9);
  await waitingFor(watcher);
  const program = `
    import { withSchemaEngine } from ${JSON.stringify(join(import.meta.dirname, "wasm-engine.ts"))};
    const { appliedMigrationNames } = await withSchemaEngine(${JSON.stringify({ url: databaseUrl() })}, (engine) =>
      engine.applyMigrations(${JSON.stringify(input(9))}));
    console.log(JSON.stringify(appliedMigrationNames));`;
  const second = promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
  await vi.waitFor(
    async () => {
      const { rowCount } = await watcher.query("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
      expect(rowCount).toBe(1);
    },
    { timeout: 10_000 },
  );
  await busy.query("COMMIT");
  expect(await first).toEqual(["20261123000008_step"]);
  expect((await second).stdout).toBe("[]\n");
}, 30_000);

it("a migration that fails is named, with the error of Postgres", async () => {
  await apply(9);
  await expect(apply(10)).rejects.toThrow('20261123000009_step: relation "nowhere" does not exist');
}, 30_000);

it("an error outside of a migration has no migration's name, such as that of a server that only reads", async () => {
  await apply(9);
  const readOnly = `${databaseUrl()}?options=-cdefault_transaction_read_only%3Don`;
  const failed = withSchemaEngine({ url: readOnly }, (engine) => engine.applyMigrations(input(9)));
  await expect(failed).rejects.toThrow(/^cannot execute UPDATE/);
}, 30_000);

it("an index that is dropped beside others is its script's only statement: Postgres refuses more", async () => {
  await apply(9);
  STEPS[9] = 'DROP INDEX CONCURRENTLY "nothing"; ALTER TABLE busy ADD COLUMN street text';
  await expect(apply(10)).rejects.toThrow("DROP INDEX CONCURRENTLY cannot");
}, 30_000);
