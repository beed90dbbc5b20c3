import { readFileSync } from "node:fs";
import { join } from "node:path";
import { services } from "@countersign/build/paths.ts";

/** Columns by table. */
type Tables = ReadonlyMap<string, readonly string[]>;

const MODEL = /^model (\w+) \{(.*?)^\}/gms;

/** Returns the tables of a Prisma schema with their columns, by their names in the database. */
function tablesOfSchema(schema: string): Tables {
  const models = [...schema.matchAll(MODEL)].map(([, name, body]) => ({ name: name!, body: body! }));
  const names = new Set(models.map(({ name }) => name));
  const columnsOf = (body: string) =>
    body.split("\n").flatMap((line) => {
      const [, field, type] = /^\s+(\w+)\s+(\w+)/.exec(line) ?? [];
      // Relations have no column of their own.
      if (field === undefined || names.has(type!)) return [];
      return /@map\("(\w+)"\)/.exec(line)?.[1] ?? field;
    });
  return new Map(
    models.map(({ name, body }) => [/@@map\("(\w+)"\)/.exec(body)?.[1] ?? name, columnsOf(body)] as const),
  );
}

/** Returns the tables that the page lists for a service; each row has purpose, time and erasure. */
function tablesOfPage(page: string, service: string): Tables {
  const [, section = ""] = page.split(new RegExp(`^### ${service}$`, "m"));
  const [own = ""] = section.split(/^#/m);
  const rows = own.split("\n").flatMap((line) => {
    const cells = line.split("|").map((cell) => cell.trim());
    const name = /^`(\w+)`$/.exec(cells[1] ?? "")?.[1];
    if (name === undefined || cells.slice(4, 7).some((cell) => !cell)) return [];
    return [[name, [...`${cells[2]} ${cells[3]}`.matchAll(/`(\w+)`/g)].map(([, column]) => column!)] as const];
  });
  return new Map(rows);
}

/** Returns how the inventory of a service differs from its schema. */
export function compareInventory(service: string, schema: string, page: string): string[] {
  const [real, listed] = [tablesOfSchema(schema), tablesOfPage(page, service)];
  const missing = [...real].flatMap(([table, columns]) => {
    const known = listed.get(table);
    if (!known) return [`docs/privacy.md: ${service} has no complete row for the table ${table}`];
    const absent = columns.filter((column) => !known.includes(column));
    return absent.map((column) => `docs/privacy.md: ${service}.${table} does not list ${column}`);
  });
  const extra = [...listed].flatMap(([table, columns]) =>
    columns
      .filter((column) => !real.get(table)?.includes(column))
      .map((column) => `docs/privacy.md: ${service}.${table} has no column ${column}`),
  );
  return [...missing, ...extra];
}

/** Returns the tables and columns that the data inventory lacks, or that are not there any more. */
export function checkPrivacy(root: string): string[] {
  const page = readFileSync(join(root, "docs/privacy.md"), "utf8");
  return services.flatMap((service) =>
    compareInventory(service, readFileSync(join(root, `services/${service}/prisma/schema.prisma`), "utf8"), page),
  );
}
