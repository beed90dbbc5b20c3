import { readFileSync } from "node:fs";
import { join } from "node:path";
import { services } from "@countersign/build/paths.ts";

const PAGE = "docs/privacy.md";

/** Returns the tables of a Prisma schema with their columns, by the names in the database. */
export function tablesOf(schema: string): Map<string, string[]> {
  const models = [...schema.matchAll(/^model (\w+) \{\n(.*?)\n\}/gms)].map(([, name, body]) => [name!, body!] as const);
  const names = new Set(models.map(([name]) => name));
  const nameOf = (line: string, name: string) => /@{1,2}map\("(\w+)"\)/.exec(line)?.[1] ?? name;
  return new Map(
    models.map(([name, body]) => {
      const lines = body.split("\n");
      const columns = lines.flatMap((line) => {
        const [, column, type] = /^ {2}(\w+) +(\w+)/.exec(line) ?? [];
        return column === undefined || names.has(type!) ? [] : [nameOf(line, column)];
      });
      return [nameOf(lines.find((line) => line.includes("@@map")) ?? "", name), columns];
    }),
  );
}

const codes = (text: string): string[] => [...text.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name!);

/**
 * Returns the columns by "service.table.column" that the page lists as personal data, and the names of
 * columns that are pseudonyms or no personal data in every table.
 */
export function inventoryOf(page: string): { personal: Set<string>; names: Set<string> } {
  const personal = new Set<string>();
  for (const [, service, tables, columns] of page.matchAll(/^\| (\w+) \| (`[^|]*) \| (`[^|]*) \|/gm))
    for (const table of codes(tables!))
      for (const column of codes(columns!)) personal.add(`${service}.${table}.${column}`);
  const lists = page.split("## Names of columns")[1] ?? "";
  return { personal, names: new Set(codes(lists)) };
}

/**
 * Returns each column of a service's database that docs/privacy.md does not have, and each that it has too
 * many.
 */
export function checkPrivacy(root: string): string[] {
  const { personal, names } = inventoryOf(readFileSync(join(root, PAGE), "utf8"));
  const found = new Map<string, string>();
  for (const service of services) {
    const schema = readFileSync(join(root, "services", service, "prisma/schema.prisma"), "utf8");
    for (const [table, columns] of tablesOf(schema))
      for (const column of columns) found.set(`${service}.${table}.${column}`, column);
  }
  const missing = [...found].filter(([path, column]) => !personal.has(path) && !names.has(column));
  return [
    ...missing.map(([path]) => `${path} is not in ${PAGE}: is it personal data?`),
    ...[...personal].filter((path) => !found.has(path)).map((path) => `${PAGE} has ${path}, which does not exist`),
  ];
}
