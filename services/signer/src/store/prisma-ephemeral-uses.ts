import type { Effect } from "../policy/effects.ts";
import type { Prisma } from "./generated/client.ts";

type EphemeralUse = Extract<Effect, { kind: "ephemeral-use" }>;

/**
 * Counts uses of ephemeral tokens in Postgres: of racing uses, over all replicas, the database counts up to
 * the limit.
 */
export const prismaEphemeralUses = (prisma: Pick<Prisma.TransactionClient, "$executeRaw">) => ({
  /** Counts one more use; false, and nothing counted, where the limit is reached. */
  async use({ sessionId, operation, limit }: Omit<EphemeralUse, "kind">, now: Date): Promise<boolean> {
    const counted = await prisma.$executeRaw`
      INSERT INTO ephemeral_use (request_id, operation, count, updated_at)
      VALUES (${sessionId}::uuid, ${operation}, 1, ${now})
      ON CONFLICT (request_id, operation) DO UPDATE SET count = ephemeral_use.count + 1, updated_at = ${now}
      WHERE ephemeral_use.count < ${limit}`;
    return counted === 1;
  },
});
