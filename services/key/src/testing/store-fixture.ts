import { createTestDatabase, type TestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { openPostgres, type Postgres } from "@countersign/postgres";
import { afterAll, beforeAll } from "vitest";
import { PrismaClient } from "../store/generated/client.ts";

/** The client of a database that the importing file of tests has for itself. */
export let prisma: PrismaClient;
/** The same database, for statements. */
export let postgres: Postgres;
export let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase("key");
  postgres = openPostgres(database.url);
  prisma = new PrismaClient({ adapter: postgres.adapter });
});
afterAll(async () => {
  await prisma.$disconnect();
  await postgres.close();
  await database.drop();
});
