import type { Idempotency } from "../domain/idempotency.ts";
import type { Prisma, UsedIdempotencyKey } from "./generated/client.ts";

type Tx = Prisma.TransactionClient;

/** Returns the earlier use of a key, and whether that was for the same body; undefined where it is unused. */
export async function findIdempotencyKey(
  tx: Pick<Tx, "usedIdempotencyKey">,
  { id, fingerprint }: Idempotency,
): Promise<(UsedIdempotencyKey & { sameBody: boolean }) | undefined> {
  const used = await tx.usedIdempotencyKey.findUnique({ where: { id } });
  return used ? { ...used, sameBody: used.fingerprint === fingerprint } : undefined;
}

/**
 * Records the use of a key; false where it is used already. Waits for a transaction that has recorded it and
 * not ended.
 */
export async function insertIdempotencyKey(
  tx: Pick<Tx, "usedIdempotencyKey">,
  idempotency: Idempotency,
  use: { accountId: string; resultId?: string; now: Date },
): Promise<boolean> {
  const { accountId, resultId = null, now } = use;
  const data = [{ ...idempotency, accountId, resultId, createdAt: now }];
  const { count } = await tx.usedIdempotencyKey.createMany({ data, skipDuplicates: true });
  return count === 1;
}
