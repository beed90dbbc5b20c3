import type { PlainQueries } from "@countersign/postgres";
import type { PrismaClient } from "./generated/client.ts";

/** Gives an error the shape of Prisma's raw queries, so that a store need not know who runs its statement. */
function asPrismas(cause: unknown): Error {
  const { code, message } = cause as { code?: unknown; message?: unknown };
  return Object.assign(new Error(String(message), { cause }), {
    code: "P2010",
    meta: { driverAdapterError: { cause: { originalCode: code } } },
  });
}

/**
 * The same client, but `$queryRaw` bypasses Prisma's engine, which takes longer over a batch of audit records
 * than Postgres.
 */
export function withPlainQueries(prisma: PrismaClient, { query }: PlainQueries): PrismaClient {
  const $queryRaw = async (parts: TemplateStringsArray, ...values: readonly unknown[]) => {
    try {
      return await query(parts, ...values);
    } catch (error) {
      throw asPrismas(error);
    }
  };
  return new Proxy(prisma, {
    get: (target, name) => (name === "$queryRaw" ? $queryRaw : Reflect.get(target, name)),
  });
}
