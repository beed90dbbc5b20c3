import type { PrismaClient } from "./generated/client.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Deletes rows that cannot matter any more. Every replica may do it: it is idempotent. */
export function deleteExpiredRows(prisma: PrismaClient) {
  return async (now: Date): Promise<void> => {
    const before = (ms: number) => new Date(now.getTime() - ms);
    await prisma.challenge.deleteMany({ where: { expiresAt: { lt: before(HOUR_MS) } } });
    await prisma.exchangedCode.deleteMany({ where: { expiresAt: { lt: before(0) } } });
    await prisma.usedIdempotencyKey.deleteMany({ where: { createdAt: { lt: before(DAY_MS) } } });
    // Sign-ins of enrolled devices stay: they name the transaction that added the key.
    await prisma.twoFactorSignIn.deleteMany({ where: { enrolledAt: null, expiresAt: { lt: before(7 * DAY_MS) } } });
    // A lift counts for a week (domain/freeze-rules.ts).
    await prisma.recoveryLift.deleteMany({ where: { lastAt: { lt: before(8 * DAY_MS) } } });
    await prisma.rateLimit.deleteMany({ where: { expire: { lt: now.getTime() } } });
    // Longer than any cursor is valid: until then a watcher must be sent the end of an entry.
    await prisma.tokenStateEntry.deleteMany({ where: { kind: { not: "account" }, until: { lt: before(HOUR_MS) } } });
    // Longer than anything signed before the freeze is valid.
    await prisma.tokenStateEntry.deleteMany({ where: { kind: "account", until: { lt: before(25 * HOUR_MS) } } });
  };
}
