import { PrismaPg } from "@prisma/adapter-pg";

/** The adapter for `new PrismaClient({ adapter })`: a pool of 5 connections, 5 s to get one, 10 s for a statement. */
export function createPrismaAdapter(databaseUrl: string, pool = 5): PrismaPg {
  return new PrismaPg({
    connectionString: databaseUrl,
    max: pool,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    statement_timeout: 10_000,
    application_name: "countersign",
  });
}
