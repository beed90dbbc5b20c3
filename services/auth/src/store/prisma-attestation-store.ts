import { queriesIn } from "@countersign/postgres";
import type { AttestationStore } from "../domain/attestation.ts";
import type { PrismaClient } from "./generated/client.ts";
import { findIdempotencyKey, insertIdempotencyKey } from "./idempotency.ts";

/** An attestation is used before its account is known. */
const NO_ACCOUNT = "00000000-0000-0000-0000-000000000000";

/**
 * Keeps the uses of attestations in Postgres, among those of idempotency keys: both are remembered for a day,
 * which is longer than any login token is valid.
 */
export const prismaAttestationStore = (prisma: PrismaClient): AttestationStore => ({
  async use(use, now) {
    if (await insertIdempotencyKey(queriesIn(prisma), use, { accountId: NO_ACCOUNT, now })) return "first";
    const earlier = await findIdempotencyKey(queriesIn(prisma), use);
    return earlier?.sameBody ? "same" : "other";
  },
});
