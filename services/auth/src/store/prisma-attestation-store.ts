import { NIL_UUID } from "@countersign/core";
import { queriesIn } from "@countersign/postgres";
import type { AttestationStore } from "../domain/attestation.ts";
import type { PrismaClient } from "./generated/client.ts";
import { findIdempotencyKey, insertIdempotencyKey } from "./idempotency.ts";

/**
 * Keeps the uses of attestations in Postgres, among those of idempotency keys: both are remembered for a day,
 * which is longer than any login token is valid.
 */
export const prismaAttestationStore = (prisma: PrismaClient): AttestationStore => ({
  async use(use, now) {
    // Its account is not known yet.
    if (await insertIdempotencyKey(queriesIn(prisma), use, { accountId: NIL_UUID, now })) return "first";
    const earlier = await findIdempotencyKey(queriesIn(prisma), use);
    return earlier?.sameBody ? "same" : "other";
  },
});
