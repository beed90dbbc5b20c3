import type { Idempotency } from "../domain/idempotency.ts";
import type { Prisma, UsedIdempotencyKey } from "./generated/client.ts";

type Tx = Prisma.TransactionClient;

/** Requests with the same Idempotency-Key come one after the other. */
export async function lockIdempotency(tx: Tx, { id }: Idempotency): Promise<void> {
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`idempotency/${id}`}, 0))`;
}

/** Returns the earlier use of a key, and whether that was for the same body; undefined where it is unused. */
export async function findIdempotencyKey(
  tx: Pick<Tx, "usedIdempotencyKey">,
  { id, fingerprint }: Idempotency,
): Promise<(UsedIdempotencyKey & { sameBody: boolean }) | undefined> {
  const used = await tx.usedIdempotencyKey.findUnique({ where: { id } });
  return used ? { ...used, sameBody: used.fingerprint === fingerprint } : undefined;
}

/**
 * Records the first use of a key. The caller holds a lock that every user of the key takes:
 * `lockIdempotency`, or for a sign-up the identity's, since the key's id contains the login token, which is
 * of one identity.
 */
export async function insertIdempotencyKey(
  tx: Tx,
  idempotency: Idempotency,
  use: { accountId: string; resultId?: string; now: Date },
): Promise<void> {
  const { accountId, resultId = null, now } = use;
  await tx.usedIdempotencyKey.create({ data: { ...idempotency, accountId, resultId, createdAt: now } });
}
