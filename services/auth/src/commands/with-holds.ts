import { createPrismaAdapter } from "@countersign/postgres";
import { type Env, loadEnv } from "@countersign/runtime";
import { z } from "zod";
import type { HoldStore } from "../domain/freeze/hold-account.ts";
import { PrismaClient } from "../store/generated/client.ts";
import { prismaHoldStore } from "../store/prisma-hold-store.ts";

/**
 * Works on the holds in auth's database, AUTH_DATABASE_URL; access to that is the permission to lift them.
 */
export async function withHolds<T>(env: Env, work: (holds: HoldStore) => Promise<T>): Promise<T> {
  const { AUTH_DATABASE_URL } = loadEnv(z.object({ AUTH_DATABASE_URL: z.string() }), env);
  const prisma = new PrismaClient({ adapter: createPrismaAdapter(AUTH_DATABASE_URL, 1) });
  try {
    return await work(prismaHoldStore(prisma));
  } finally {
    await prisma.$disconnect();
  }
}
