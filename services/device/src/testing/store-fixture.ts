import { openTestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { openPostgres } from "@countersign/postgres";
import { PrismaClient } from "../store/generated/client.ts";

export const { database, postgres, prisma } = await openTestDatabase("device", openPostgres, PrismaClient);
