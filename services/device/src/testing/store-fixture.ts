import { createTestDatabase, type TestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { createPrismaAdapter } from "@countersign/postgres";
import { afterAll, beforeAll } from "vitest";
import { PrismaClient } from "../store/generated/client.ts";

/** The client of a database that the importing file of tests has for itself. */
export let prisma: PrismaClient;
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase("device");
  prisma = new PrismaClient({ adapter: createPrismaAdapter(database.url) });
});
afterAll(async () => {
  await prisma.$disconnect();
  await database.drop();
});
