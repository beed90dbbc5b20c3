import { services } from "@countersign/build/paths.ts";
import { keysToWiden, readForeignKeys, readTables, readUniqueKeys } from "@countersign/migrations/distribute.ts";
import { LOOKUP_ONLY, PLACEMENTS, UNCHECKED, WIDENED } from "@countersign/migrations/distribution.ts";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "./testing/postgres.ts";

describe.each(services)("the distribution of %s's tables", (service) => {
  let database: TestDatabase;
  let client: pg.Client;
  beforeAll(async () => {
    database = await createTestDatabase(service);
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });
  afterAll(async () => {
    await client?.end();
    await database?.drop();
  });

  it("places each table of the schema, and no other", async () => {
    expect(Object.keys(PLACEMENTS[service]).sort()).toEqual(await readTables(client));
  });

  it("distributes by columns that are never null", async () => {
    const { rows } = await client.query<{ id: string; nullable: boolean }>(`
      SELECT table_name || '.' || column_name AS id, is_nullable = 'YES' AS nullable
      FROM information_schema.columns WHERE table_schema = 'public'`);
    const nullable = new Map(rows.map((row) => [row.id, row.nullable]));
    const keys = Object.entries(PLACEMENTS[service]).flatMap(([table, placement]) =>
      "by" in placement ? [`${table}.${placement.by}`] : [],
    );
    expect(keys.filter((key) => nullable.get(key) !== false)).toEqual([]);
  });

  it("says of each unique key that nodes cannot check together why it holds all the same", async () => {
    const names = keysToWiden(service, await readUniqueKeys(client)).map(({ name }) => name);
    expect(names.sort()).toEqual(Object.keys(WIDENED[service]).sort());
  });

  it("turns no primary key and no target of a foreign key into an index for lookups only", async () => {
    const targets = (await readForeignKeys(client)).map(({ target, targetColumns }) => [target, targetColumns]);
    for (const { name, table, columns, isPrimary } of await readUniqueKeys(client)) {
      if (LOOKUP_ONLY[name] === undefined) continue;
      expect(Object.keys(WIDENED[service])).toContain(name);
      expect(isPrimary).toBe(false);
      expect(targets).not.toContainEqual([table, columns]);
    }
  });

  it("keeps foreign keys between tables that are on the same node", async () => {
    for (const { name, table, target } of await readForeignKeys(client)) {
      if (UNCHECKED[name] !== undefined) continue;
      const [from, to] = [PLACEMENTS[service][table]!, PLACEMENTS[service][target]!];
      const account = ["account_id", ...(target === "account" ? ["id"] : [])];
      expect([name, "by" in from && "by" in to && account.includes(from.by) && account.includes(to.by)]).toEqual([
        name,
        true,
      ]);
    }
  });
});
