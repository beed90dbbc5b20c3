import { readFileSync } from "node:fs";
import { join } from "node:path";
import { trackedFiles } from "./check-words.ts";

/** Means of one Postgres node, which exclude, order or notify on that node only. */
const FORBIDDEN: readonly [RegExp, string][] = [
  [/\bpg_notify\b|\bLISTEN\b/, "notifies the sessions of one node only"],
  [/\bpg_(try_)?advisory_\w+/, "locks on one node only: use a row (ADR 59)"],
  [/\btxid_\w+|\bpg_(current_)?(xact_id|snapshot)\w*|\bxid8\b|\bxmin\b/, "orders the transactions of one node only"],
  [/\bCREATE (OR REPLACE )?(CONSTRAINT )?TRIGGER\b/i, "runs where the row is, and is not seen in the code"],
];
const PRODUCT = /^(gateway|services\/[^/]+|packages\/(?!local-stack\/)[^/]+)\/(src|sql)\/.*\.(ts|sql)$/;
const TESTS = /\.test\.ts$|\/testing\/|\/generated\//;
const MIGRATION = /^(services\/[^/]+)\/prisma\/migrations\/(\d+)_[^/]+\/migration\.sql$/;
/** Migrations before this one ran long ago: only what they leave in the schema counts. */
const FIRST_CHECKED_MIGRATION = "20261123003000";

/** Returns what a text uses that works on one node only. */
export function findSingleNode(text: string): string[] {
  return FORBIDDEN.flatMap(([pattern, why]) => {
    const found = pattern.exec(text);
    return found ? [`${found[0]} ${why}`] : [];
  });
}

const NAME = String.raw`"?(\w+)"?`;
const TRIGGER = new RegExp(
  String.raw`\b(CREATE|DROP)\b[^;]*?\bTRIGGER\s+(?:IF EXISTS\s+)?${NAME}[^;]*?\bON\s+${NAME}`,
  "gi",
);
const FUNCTION = new RegExp(
  String.raw`\b(CREATE)\s+(?:OR REPLACE\s+)?FUNCTION\s+${NAME}[\s\S]*?\$\$([\s\S]*?)\$\$|\b(DROP)\s+FUNCTION\s+(?:IF EXISTS\s+)?${NAME}`,
  "gi",
);

/** Returns what migrations, in their order, leave in a schema that works on one node only. */
export function findInSchema(migrations: readonly string[]): string[] {
  const found = new Map<string, string>();
  for (const text of migrations) {
    for (const [, verb, name, table] of text.matchAll(TRIGGER)) {
      const key = `trigger ${name} on ${table}`;
      if (verb!.toUpperCase() === "CREATE") found.set(key, key);
      else found.delete(key);
    }
    for (const [, create, name, body, , dropped] of text.matchAll(FUNCTION)) {
      const key = `function ${name ?? dropped}`;
      const [problem] = create ? findSingleNode(body!) : [];
      if (problem) found.set(key, `${key}: ${problem}`);
      else found.delete(key);
    }
  }
  return [...found.values()];
}

/** Returns each use in product code, in newer migrations, and in the schemas that all migrations make. */
export function checkDistribution(root: string): string[] {
  const files = trackedFiles(root);
  const read = (path: string) => readFileSync(join(root, path), "utf8");
  const migrations = files.filter((path) => MIGRATION.test(path)).sort();
  const isNew = (path: string) => MIGRATION.exec(path)![2]! >= FIRST_CHECKED_MIGRATION;
  const checked = [...files.filter((path) => PRODUCT.test(path) && !TESTS.test(path)), ...migrations.filter(isNew)];
  const schemas = Map.groupBy(migrations, (path) => MIGRATION.exec(path)![1]!);
  return [
    ...checked.flatMap((path) => findSingleNode(read(path)).map((problem) => `${path}: ${problem}`)),
    ...[...schemas].flatMap(([service, paths]) =>
      findInSchema(paths.map(read)).map((problem) => `${service}, schema after all migrations: ${problem}`),
    ),
  ];
}
