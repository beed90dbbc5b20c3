import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { root, type ServiceName } from "@countersign/build/paths.ts";
import type { MigrationList } from "@prisma/schema-engine-wasm";
import { withSchemaEngine } from "./wasm-engine.ts";

const filters = { externalTables: [], externalEnums: [] };
const lockfile = 'provider = "postgresql"\n';

function migrationsDir(service: ServiceName): string {
  return join(root, "services", service, "prisma/migrations");
}

/** Returns a service's migrations in their order, with their SQL. */
export function migrationSteps(service: ServiceName): { name: string; sql: string }[] {
  const baseDir = migrationsDir(service);
  if (!existsSync(baseDir)) return [];
  return readdirSync(baseDir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ name, sql: readFileSync(join(baseDir, name, "migration.sql"), "utf8") }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

const readMigrations = (service: ServiceName): MigrationList => ({
  baseDir: migrationsDir(service),
  lockfile: { path: "migration_lock.toml", content: lockfile },
  shadowDbInitScript: "",
  migrationDirectories: migrationSteps(service).map(({ name, sql }) => ({
    path: name,
    migrationFile: { path: "migration.sql", content: { tag: "ok", value: sql } },
  })),
});

/**
 * Applies the pending migrations of services/<service>/prisma/migrations; returns their names. Idempotent.
 */
export async function migrate(service: ServiceName, url: string): Promise<string[]> {
  try {
    return await withSchemaEngine({ url }, async (engine) => {
      const done = await engine.applyMigrations({ migrationsList: readMigrations(service), filters });
      return done.appliedMigrationNames;
    });
  } catch (error) {
    throw new Failure(`the migrations of ${service} could not be applied: ${(error as Error).message}`);
  }
}

/**
 * Writes the migration from the present migrations to schema.prisma. `url` is an empty database for the
 * present state, which the caller drops afterwards. Returns the new file's path, or undefined when nothing
 * differs.
 */
export async function writeMigration(service: ServiceName, name: string, url: string): Promise<string | undefined> {
  const path = join(root, "services", service, "prisma/schema.prisma");
  const content = readFileSync(path, "utf8");
  const { stdout } = await withSchemaEngine({ url, datamodels: [[path, content]] }, (engine) =>
    engine.diff({
      from: { tag: "migrations", ...readMigrations(service) },
      to: { tag: "schemaDatamodel", files: [{ path, content }] },
      script: true,
      exitCode: null,
      filters,
    }),
  );
  if (!stdout?.trim() || stdout.includes("This is an empty migration")) return undefined;
  const stamp = new Date().toISOString().replace(/\D/g, "").slice(0, 14);
  const dir = join(migrationsDir(service), `${stamp}_${name}`);
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(migrationsDir(service), "migration_lock.toml"), lockfile);
  writeFileSync(join(dir, "migration.sql"), stdout);
  return join(dir, "migration.sql");
}
