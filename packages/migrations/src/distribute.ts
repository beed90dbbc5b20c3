import type { ServiceName } from "@countersign/build/paths.ts";
import type pg from "pg";
import { FUNCTIONS, LOOKUP_ONLY, PLACEMENTS, type Placement, UNCHECKED, WIDENED } from "./distribution.ts";
import { withClient } from "./execute-sql.ts";

interface UniqueKey {
  table: string;
  name: string;
  isPrimary: boolean;
  isConstraint: boolean;
  columns: string[];
}

interface ForeignKey {
  table: string;
  name: string;
  columns: string[];
  target: string;
  targetColumns: string[];
  onDelete: string;
}

/** Returns a table's unique keys, with their columns in order. */
export async function readUniqueKeys(client: pg.ClientBase): Promise<UniqueKey[]> {
  const { rows } = await client.query<UniqueKey>(`
    SELECT t.relname AS "table", i.relname AS name, x.indisprimary AS "isPrimary",
      EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = x.indexrelid AND c.contype IN ('p', 'u')) AS "isConstraint",
      array(SELECT a.attname::text FROM unnest(x.indkey) WITH ORDINALITY AS k(number, place)
        JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.number ORDER BY place) AS columns
    FROM pg_index x JOIN pg_class t ON t.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
    WHERE t.relnamespace = 'public'::regnamespace AND x.indisunique AND t.relname <> '_prisma_migrations'
    ORDER BY 1, 2`);
  return rows;
}

const ACTIONS: Readonly<Record<string, string>> = { a: "NO ACTION", c: "CASCADE", r: "RESTRICT", n: "SET NULL" };

export async function readForeignKeys(client: pg.ClientBase): Promise<ForeignKey[]> {
  const names = (key: string, table: string) => `
    array(SELECT a.attname::text FROM unnest(${key}) WITH ORDINALITY AS k(number, place)
      JOIN pg_attribute a ON a.attrelid = ${table} AND a.attnum = k.number ORDER BY place)`;
  const { rows } = await client.query<ForeignKey>(`
    SELECT conrelid::regclass::text AS "table", conname AS name, ${names("conkey", "conrelid")} AS columns,
      confrelid::regclass::text AS target, ${names("confkey", "confrelid")} AS "targetColumns",
      confdeltype AS "onDelete"
    FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace ORDER BY 1, 2`);
  return rows;
}

/** Returns the tables of a database, without the record of the migrations. */
export async function readTables(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(`
    SELECT relname AS name FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
      AND relname <> '_prisma_migrations' ORDER BY 1`);
  return rows.map(({ name }) => name);
}

/** Returns the unique keys that lack the column that their rows are distributed by. */
export const keysToWiden = (service: ServiceName, keys: readonly UniqueKey[]): UniqueKey[] =>
  keys.filter(({ table, columns }) => {
    const placement = PLACEMENTS[service][table];
    return placement !== undefined && "by" in placement && !columns.includes(placement.by);
  });

const list = (columns: readonly string[]) => columns.map((column) => `"${column}"`).join(", ");

/**
 * Appends the column that the rows are distributed by: the index finds rows by the key alone as before. Where
 * LOOKUP_ONLY says so, it is no unique one any more.
 */
async function widen(client: pg.ClientBase, { table, name, isPrimary, isConstraint, columns }: UniqueKey, by: string) {
  if (isConstraint) await client.query(`ALTER TABLE "${table}" DROP CONSTRAINT "${name}" CASCADE`);
  else await client.query(`DROP INDEX "${name}"`);
  if (LOOKUP_ONLY[name] !== undefined) {
    await client.query(`CREATE INDEX "${name}" ON "${table}" (${list(columns)})`);
    return;
  }
  const all = list([...columns, by]);
  if (isPrimary) await client.query(`ALTER TABLE "${table}" ADD CONSTRAINT "${name}" PRIMARY KEY (${all})`);
  else await client.query(`CREATE UNIQUE INDEX "${name}" ON "${table}" (${all})`);
}

/**
 * Returns what the tables of one group have in common, whose rows are on the same nodes: the type of the
 * column that they are distributed by, or one shard. Undefined for a table that is everywhere.
 */
async function groupOf(client: pg.ClientBase, table: string, placement: Placement): Promise<string | undefined> {
  if ("place" in placement) return placement.place === "everywhere" ? undefined : placement.place;
  const { rows } = await client.query<{ type: string }>(
    "SELECT atttypid::regtype::text AS type FROM pg_attribute WHERE attrelid = $1::regclass AND attname = $2",
    [table, placement.by],
  );
  return rows[0]!.type;
}

async function place(client: pg.ClientBase, table: string, placement: Placement, firsts: Map<string, string>) {
  const group = await groupOf(client, table, placement);
  if (group === undefined) {
    await client.query("SELECT create_reference_table($1)", [table]);
    return;
  }
  const values = [table, "by" in placement ? placement.by : null, firsts.get(group) ?? "none"];
  await client.query("SELECT create_distributed_table($1, $2, colocate_with => $3)", values);
  if (!firsts.has(group)) firsts.set(group, table);
}

/**
 * Distributes the tables of a service's database over the nodes of Citus that it knows, as PLACEMENTS says,
 * in one transaction. `url` is the superuser's connection string of the database on the coordinator. Returns
 * the tables that it distributed; the others were already. Run after each deployment of migrations.
 */
export const distribute = (service: ServiceName, url: string): Promise<string[]> =>
  withClient(url, async (client) => {
    await client.query("BEGIN");
    await client.query("SET LOCAL citus.multi_shard_modify_mode = 'sequential'");
    await client.query("SET LOCAL client_min_messages = 'warning'");
    const { rows } = await client.query<{ name: string }>(
      "SELECT logicalrelid::regclass::text AS name FROM pg_dist_partition",
    );
    const known = new Set(rows.map(({ name }) => name));
    const missing = (await readTables(client)).filter((table) => !known.has(table));
    const unlisted = missing.filter((table) => PLACEMENTS[service][table] === undefined);
    if (unlisted.length > 0) throw new Error(`${service}: distribution.ts does not place ${unlisted.join(", ")}`);

    const foreign = (await readForeignKeys(client)).filter(({ table }) => missing.includes(table));
    for (const { table, name } of foreign) await client.query(`ALTER TABLE ${table} DROP CONSTRAINT "${name}"`);
    const keys = (await readUniqueKeys(client)).filter(({ table }) => missing.includes(table));
    for (const key of keysToWiden(service, keys)) {
      if (WIDENED[service][key.name] === undefined)
        throw new Error(`${service}: distribution.ts does not say why ${key.name} may be widened`);
      await widen(client, key, (PLACEMENTS[service][key.table] as { by: string }).by);
    }
    // The first table of each group that is distributed already: others come to the same nodes.
    const firsts = new Map<string, string>();
    for (const [table, placement] of Object.entries(PLACEMENTS[service])) {
      const group = known.has(table) ? await groupOf(client, table, placement) : undefined;
      if (group !== undefined && !firsts.has(group)) firsts.set(group, table);
    }
    for (const table of missing) await place(client, table, PLACEMENTS[service][table]!, firsts);
    for (const key of foreign.filter(({ name }) => UNCHECKED[name] === undefined))
      await addForeignKey(client, service, key);
    for (const name of FUNCTIONS[service]) {
      const { rows: found } = await client.query<{ signature: string }>(
        "SELECT oid::regprocedure::text AS signature FROM pg_proc WHERE proname = $1",
        [name],
      );
      for (const { signature } of found) await client.query("SELECT create_distributed_function($1)", [signature]);
    }
    await client.query("COMMIT");
    return missing;
  });

/** Adds a foreign key again: with the account on both sides, and without changes of keys by their target. */
async function addForeignKey(client: pg.ClientBase, service: ServiceName, key: ForeignKey): Promise<void> {
  const { table, name, target, onDelete } = key;
  const [from, to] = [PLACEMENTS[service][table]!, PLACEMENTS[service][target]!];
  const isColocated = "by" in from && "by" in to;
  const lacks = isColocated && !key.columns.includes(from.by);
  const columns = lacks ? [from.by, ...key.columns] : key.columns;
  const targetColumns = lacks ? [(to as { by: string }).by, ...key.targetColumns] : key.targetColumns;
  await client.query(`
    ALTER TABLE "${table}" ADD CONSTRAINT "${name}" FOREIGN KEY (${list(columns)})
    REFERENCES "${target}" (${list(targetColumns)}) ON DELETE ${ACTIONS[onDelete]}`);
}
