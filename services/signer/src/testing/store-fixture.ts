import { FixedClock } from "@countersign/core";
import { createTestDatabase, type TestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { createPrismaAdapter } from "@countersign/postgres";
import { createLogger } from "@countersign/runtime";
import { afterAll, beforeAll } from "vitest";
import { createAuditLog } from "../audit/audit-log.ts";
import { PrismaClient } from "../store/generated/client.ts";
import { prismaAuditStore } from "../store/prisma-audit-store.ts";
import { newWriter } from "./audit-fixture.ts";

export const clock = new FixedClock("2026-11-21T10:00:00Z");
/** What a transaction of 999 units costs, in units of 0.00000001 FLOW. */
export const FEES = 4_006_000;
/** A database of the file's own, with the signer's migrations. */
export let database: TestDatabase;
/** Two replicas of the signer, each with connections of its own. */
export let replicas: [PrismaClient, PrismaClient];
/** The first one's. */
export let prisma: PrismaClient;

beforeAll(async () => {
  database = await createTestDatabase("signer");
  const connect = () => new PrismaClient({ adapter: createPrismaAdapter(database.url, 5) });
  replicas = [connect(), connect()];
  [prisma] = replicas;
});
afterAll(async () => {
  await Promise.all(replicas.map((each) => each.$disconnect()));
  await database.drop();
});

/** The audit log of one replica, as fast as it goes. */
export const newLog = (replica: PrismaClient) =>
  createAuditLog({
    store: prismaAuditStore(replica),
    writer: newWriter(),
    clock,
    logger: createLogger({ name: "test", level: "silent" }),
    signaturesPerMinute: 10_000,
  });
