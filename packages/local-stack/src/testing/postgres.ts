import { randomBytes } from "node:crypto";
import type { ServiceName } from "@countersign/build/paths.ts";
import { withClient } from "@countersign/migrations/execute-sql.ts";
import { migrate, migrationSteps } from "@countersign/migrations/migrate.ts";
import type pg from "pg";
import { afterAll, inject } from "vitest";

export interface TestDatabase {
  /** Connection string of a database of its own, with the service's migrations applied; it may be pooled. */
  url: string;
  /** Removes it, even while clients are connected. */
  drop(): Promise<void>;
}

function databaseUrl(adminUrl: string, database: string): string {
  const url = new URL(adminUrl);
  url.pathname = `/${database}`;
  return url.href;
}

/**
 * Makes the service's template once per run; test files in other processes wait for it on an advisory lock.
 */
async function ensureTemplate(client: pg.Client, adminUrl: string, service: ServiceName): Promise<string> {
  const template = `template_${service}`;
  const found = await client.query("SELECT 1 FROM pg_database WHERE datname = $1 AND datistemplate", [template]);
  if (found.rowCount) return template;
  await client.query(`DROP DATABASE IF EXISTS ${template}`);
  await client.query(`CREATE DATABASE ${template}`);
  await migrate(service, databaseUrl(adminUrl, template));
  await client.query(`ALTER DATABASE ${template} WITH IS_TEMPLATE true ALLOW_CONNECTIONS false`);
  return template;
}

/** A fresh database with the migrations of `service` before one of them, and how to go on to that one. */
export async function createEarlierDatabase(
  service: ServiceName,
  migration: string,
): Promise<TestDatabase & { migrate(): Promise<void> }> {
  const adminUrl = inject("postgresUrl");
  const name = `test_${service}_${randomBytes(6).toString("hex")}`;
  await withClient(adminUrl, (client) => client.query(`CREATE DATABASE ${name}`));
  const url = databaseUrl(adminUrl, name);
  const run = (sql: string) => withClient(url, (client) => client.query(sql));
  const steps = migrationSteps(service);
  for (const { sql } of steps.slice(0, indexOf(steps, migration))) await run(sql);
  return {
    url,
    async migrate() {
      for (const { sql } of steps.slice(indexOf(steps, migration))) await run(sql);
    },
    drop: () => dropDatabase(adminUrl, name),
  };
}

function indexOf(steps: readonly { name: string }[], migration: string): number {
  const index = steps.findIndex(({ name }) => name.endsWith(`_${migration}`));
  if (index < 0) throw new Error(`there is no migration ${migration}`);
  return index;
}

const dropDatabase = (adminUrl: string, name: string): Promise<void> =>
  withClient(adminUrl, async (client) => {
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  });

/**
 * Creates a database with the migrations of `service`, on the run's shared Postgres (vitest's `service`
 * project).
 */
export async function createTestDatabase(service: ServiceName): Promise<TestDatabase> {
  const adminUrl = inject("postgresUrl");
  if (!adminUrl) throw new Error("no Postgres in this run: name the file *.service.test.ts");
  const name = `test_${service}_${randomBytes(6).toString("hex")}`;
  await withClient(adminUrl, async (client) => {
    await client.query("SELECT pg_advisory_lock(hashtext('countersign-template'))");
    const template = await ensureTemplate(client, adminUrl, service);
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  });
  return {
    url: databaseUrl(inject("pooledUrl"), name),
    drop: () => dropDatabase(adminUrl, name),
  };
}

/** Opens a database that the importing file of tests has for itself, for statements and for Prisma. */
export async function openTestDatabase<
  Postgres extends { readonly adapter: unknown; close(): Promise<void> },
  Client extends { $disconnect(): Promise<void> },
>(
  service: ServiceName,
  open: (url: string) => Postgres,
  PrismaClient: new (options: { adapter: Postgres["adapter"] }) => Client,
) {
  const database = await createTestDatabase(service);
  const postgres = open(database.url);
  const prisma = new PrismaClient({ adapter: postgres.adapter });
  afterAll(async () => {
    await prisma.$disconnect();
    await postgres.close();
    await database.drop();
  });
  return { database, postgres, prisma };
}
