import type { Clock, Logger } from "@countersign/core";
import type { PrismaClient } from "../store/generated/client.ts";
import type { TokenKeys } from "../tokens/token-keys.ts";

const EVERY_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Rotates token keys in time and forgets what cannot matter any more. Every replica does it; doing it twice does no harm. */
export function startHousekeeping({
  prisma,
  keys,
  clock,
  logger,
}: {
  prisma: PrismaClient;
  keys: TokenKeys;
  clock: Clock;
  logger: Logger;
}) {
  async function tidy(): Promise<void> {
    await keys.rotate();
    const now = clock.now().getTime();
    const before = (ms: number) => new Date(now - ms);
    await prisma.challenge.deleteMany({ where: { expiresAt: { lt: before(HOUR_MS) } } });
    await prisma.exchangedCode.deleteMany({ where: { expiresAt: { lt: before(0) } } });
    await prisma.idempotencyClaim.deleteMany({ where: { createdAt: { lt: before(DAY_MS) } } });
    // Those that were let in stay: their sign-ins name the transaction that added the key.
    await prisma.twoFactorSignIn.deleteMany({ where: { admittedAt: null, expiresAt: { lt: before(7 * DAY_MS) } } });
    // A lift counts for a week (domain/freeze-rules.ts).
    await prisma.recoveryLift.deleteMany({ where: { lastAt: { lt: before(8 * DAY_MS) } } });
    await prisma.rateLimit.deleteMany({ where: { expire: { lt: now } } });
    // Longer than any cursor may be old: until then a watcher must hear that an entry was lifted.
    await prisma.tokenStateEntry.deleteMany({ where: { kind: { not: "account" }, until: { lt: before(HOUR_MS) } } });
    // For longer than anything lives that was signed before the freeze.
    await prisma.tokenStateEntry.deleteMany({ where: { kind: "account", until: { lt: before(25 * HOUR_MS) } } });
  }
  const timer = setInterval(() => tidy().catch((err) => logger.warn({ err }, "housekeeping waits")), EVERY_MS);
  return { close: () => clearInterval(timer) };
}
