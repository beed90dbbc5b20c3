import type { EphemeralUses } from "../domain/ports.ts";
import type { PrismaClient } from "./generated/client.ts";

/** Uses of ephemeral tokens in Postgres: of racing uses, over all replicas, the database lets so many through. */
export const prismaEphemeralUses = (prisma: PrismaClient): EphemeralUses => ({
  async use(requestId, operation, most, now) {
    const counted = await prisma.$executeRaw`
      INSERT INTO ephemeral_use (request_id, operation, count, updated_at) VALUES (${requestId}::uuid, ${operation}, 1, ${now})
      ON CONFLICT (request_id, operation) DO UPDATE SET count = ephemeral_use.count + 1, updated_at = ${now}
      WHERE ephemeral_use.count < ${most}`;
    return counted === 1;
  },
});

/** Uses of tokens that ended long ago. */
export async function pruneEphemeralUses(prisma: PrismaClient, before: Date): Promise<void> {
  await prisma.ephemeralUse.deleteMany({ where: { updatedAt: { lt: before } } });
}
