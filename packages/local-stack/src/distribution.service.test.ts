import { services } from "@countersign/build/paths.ts";
import { keysToWiden, readForeignKeys, readTables, readUniqueKeys } from "@countersign/migrations/distribute.ts";
import { COMPLETIONS, LOOKUP_ONLY, PLACEMENTS, UNCHECKED, WIDENED } from "@countersign/migrations/distribution.ts";
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

  it("distributes by columns that are never null, or were not there in version 0.1", async () => {
    const { rows } = await client.query<{ id: string; nullable: boolean }>(`
      SELECT table_name || '.' || column_name AS id, is_nullable = 'YES' AS nullable
      FROM information_schema.columns WHERE table_schema = 'public'`);
    const nullable = new Map(rows.map((row) => [row.id, row.nullable]));
    const keys = Object.entries(PLACEMENTS[service]).flatMap(([table, placement]) =>
      "by" in placement ? [`${table}.${placement.by}`] : [],
    );
    const unsuitable = keys.filter((key) => nullable.get(key) !== false);
    expect(unsuitable).toEqual(service === "device" ? ["two_factor_message.account_id"] : []);
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

describe("rows of the version before", () => {
  async function completed(
    service: "device" | "signer",
    table: string,
    inserts: readonly string[],
  ): Promise<unknown[]> {
    const database = await createTestDatabase(service);
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    for (const insert of inserts) await client.query(insert);
    await client.query(COMPLETIONS[table]!);
    await client.query(COMPLETIONS[table]!);
    const { rows } = await client.query(`SELECT account_id FROM ${table} ORDER BY 1`);
    await client.end();
    await database.drop();
    return rows.map(({ account_id: id }) => id);
  }
  const id = (n: number) => `01900000-0000-7000-8000-00000000000${n}`;

  it("gives a message of a two-factor request the request's account", async () => {
    const inserts = [
      `INSERT INTO two_factor (id, account_id, chain_name, app_id, app_name, user_key_type, account_key_algorithm,
         account_key, device_key_algorithm, device_key, device, email, ip, location, src_device_id, status, message_id, message,
         requested_at, expires_at, wrong_approvals)
       VALUES ('${id(1)}', '${id(2)}', 'flow', '', '', '', '', '', '', '', '{}', '', '', '', '${id(3)}', 'pending',
         '${id(4)}', '', now(), now(), 0)`,
      `INSERT INTO two_factor_message (message_id, two_factor_id, message, created_at)
       VALUES ('${id(4)}', '${id(1)}', '', now())`,
    ];
    expect(await completed("device", "two_factor_message", inserts)).toEqual([id(2)]);
  });

  it("gives an address to the account that is bound to it", async () => {
    const bind = (account: string, address: string) =>
      `INSERT INTO binding (account_id, chain_name, address, server_key_index, server_key_version, created_at)
       VALUES ('${account}', 'flow', '${address}', 1, 1, now())`;
    const inserts = [
      bind(id(1), "0x1"),
      bind(id(2), "0x2"),
      `INSERT INTO bound_address (chain_name, address, account_id) VALUES ('flow', '0x2', '${id(3)}')`,
    ];
    expect(await completed("signer", "bound_address", inserts)).toEqual([id(1), id(2)]);
  });
});
