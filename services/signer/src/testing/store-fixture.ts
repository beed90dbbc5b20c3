import { FixedClock } from "@countersign/core/testing";
import { createTestDatabase, type TestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { openPostgres, type Postgres } from "@countersign/postgres";
import { createLogger } from "@countersign/runtime";
import { afterAll, beforeAll } from "vitest";
import { createAuditLog } from "../audit/audit-log.ts";
import { PrismaClient } from "../store/generated/client.ts";
import { postgresAuditStore } from "../store/postgres-audit-store.ts";
import { newWriter } from "./audit-fixture.ts";

export const clock = new FixedClock("2026-11-21T10:00:00Z");
/** The fees of a transaction of 999 units, in units of 0.00000001 FLOW. */
export const FEES = 4_006_000;
/** A database of the file's own, with the signer's migrations. */
export let database: TestDatabase;
/** The connections of two replicas of the signer. */
export let databases: [Postgres, Postgres];
/** Prisma's clients of the two. */
export let replicas: [PrismaClient, PrismaClient];
/** The first one's. */
export let postgres: Postgres;
export let prisma: PrismaClient;

beforeAll(async () => {
  database = await createTestDatabase("signer");
  databases = [openPostgres(database.url), openPostgres(database.url)];
  const connect = ({ adapter }: Postgres) => new PrismaClient({ adapter });
  replicas = [connect(databases[0]), connect(databases[1])];
  [postgres] = databases;
  [prisma] = replicas;
});
afterAll(async () => {
  await Promise.all(replicas.map((each) => each.$disconnect()));
  await Promise.all(databases.map((each) => each.close()));
  await database.drop();
});

/** Returns the audit log of one replica, as fast as it goes. */
export const newLog = (replica: Postgres) =>
  createAuditLog({
    store: postgresAuditStore(replica),
    writer: newWriter(),
    clock,
    logger: createLogger({ name: "test", level: "silent" }),
    signaturesPerMinute: 10_000,
  });
