import { createPrismaAdapter, type Env, loadEnv } from "@countersign/service-kit";
import { z } from "zod";
import type { HoldStore } from "../domain/hold-account.ts";
import { PrismaClient } from "../store/generated/client.ts";
import { prismaHoldStore } from "../store/prisma-hold-store.ts";

/** What a command is given: its own arguments, the environment, and where to write. */
export interface CommandContext {
  readonly args: readonly string[];
  readonly env: Env;
  /** One line on standard output. */
  print(line: string): void;
}

export interface Command {
  /** Arguments, for the list of commands. */
  readonly usage: string;
  /** Gives the exit code. Errors: Error whose message is shown. */
  run(context: CommandContext): Promise<number>;
}

/** The arguments do not fit; the message is the usage. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Works on the holds in auth's database, AUTH_DATABASE_URL: whoever may read that may lift them. */
export async function withHolds<T>(env: Env, work: (holds: HoldStore) => Promise<T>): Promise<T> {
  const { AUTH_DATABASE_URL } = loadEnv(z.object({ AUTH_DATABASE_URL: z.string() }), env);
  const prisma = new PrismaClient({ adapter: createPrismaAdapter(AUTH_DATABASE_URL, 1) });
  try {
    return await work(prismaHoldStore(prisma));
  } finally {
    await prisma.$disconnect();
  }
}
