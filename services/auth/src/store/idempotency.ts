import type { Idempotency } from "../domain/idempotency.ts";
import type { IdempotencyClaim, Prisma } from "./generated/client.ts";

type Tx = Prisma.TransactionClient;

/** Requests with the same Idempotency-Key come one after the other. */
export async function lockIdempotency(tx: Tx, { id }: Idempotency): Promise<void> {
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`idempotency/${id}`}, 0))`;
}

/** What the key was claimed for before, "reused" where that was another body; undefined where it is free. */
export async function findClaim(
  tx: Pick<Tx, "idempotencyClaim">,
  { id, fingerprint }: Idempotency,
): Promise<IdempotencyClaim | "reused" | undefined> {
  const claim = await tx.idempotencyClaim.findUnique({ where: { id } });
  if (!claim) return undefined;
  return claim.fingerprint === fingerprint ? claim : "reused";
}

/** Claims a key that is free; only with a lock that its other users take as well. */
export async function insertClaim(
  tx: Tx,
  idempotency: Idempotency,
  claim: { accountId: string; resultId?: string; now: Date },
): Promise<void> {
  const { accountId, resultId = null, now } = claim;
  await tx.idempotencyClaim.create({ data: { ...idempotency, accountId, resultId, createdAt: now } });
}
