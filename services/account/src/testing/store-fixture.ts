import { openTestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { openPostgres } from "@countersign/postgres";
import { PrismaClient } from "../store/generated/client.ts";

const open = (url: string) => openPostgres(url, { connections: 10 });
export const { postgres, prisma } = await openTestDatabase("account", open, PrismaClient);
