import { randomBytes } from "node:crypto";
import { deployMigrations } from "@countersign/migrations/deploy-migrations.ts";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, it } from "vitest";

const id = randomBytes(4).toString("hex");
const [database, owner, role] = [`deploy_${id}`, `deploy_owner_${id}`, `deploy_service_${id}`];

function urlAs(user?: string): string {
  const url = new URL(inject("postgresUrl"));
  if (user === undefined) return url.href;
  url.username = user;
  url.password = user;
  url.pathname = `/${database}`;
  return url.href;
}

async function execute(url: string, ...statements: string[]): Promise<pg.QueryResult[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const results: pg.QueryResult[] = [];
    for (const statement of statements) results.push(await client.query(statement));
    return results;
  } finally {
    await client.end();
  }
}

beforeAll(async () => {
  await execute(
    urlAs(),
    `CREATE ROLE ${owner} LOGIN PASSWORD '${owner}'`,
    `CREATE ROLE ${role} LOGIN PASSWORD '${role}'`,
    `CREATE DATABASE ${database} OWNER ${owner}`,
    `REVOKE ALL ON DATABASE ${database} FROM PUBLIC`,
    `GRANT CONNECT ON DATABASE ${database} TO ${role}`,
  );
});
afterAll(() => execute(urlAs(), `DROP DATABASE ${database} WITH (FORCE)`, `DROP ROLE ${role}`, `DROP ROLE ${owner}`));

it("gives the service's role the rows of every table, and neither the schema nor the migrations' record", async () => {
  expect((await deployMigrations("key", urlAs(owner), role)).length).toBeGreaterThan(0);
  expect(await deployMigrations("key", urlAs(owner), role)).toEqual([]);
  const [tables] = await execute(urlAs(owner), "SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
  const names = tables!.rows
    .map(({ tablename }) => tablename as string)
    .filter((name) => name !== "_prisma_migrations");
  const appended = "admin_action";
  for (const name of names) {
    await execute(urlAs(role), `SELECT * FROM "${name}" LIMIT 1`);
    if (name !== appended) await execute(urlAs(role), `DELETE FROM "${name}"`);
  }
  const changes = [`DELETE FROM ${appended}`, `UPDATE ${appended} SET reason = ''`, `TRUNCATE ${appended}`];
  const refused = [
    ...changes,
    "SELECT * FROM _prisma_migrations",
    "CREATE TABLE own (id int)",
    `DROP TABLE "${names[0]}"`,
  ];
  for (const statement of refused) await expect(execute(urlAs(role), statement)).rejects.toThrow(/permission|owner/);
});
