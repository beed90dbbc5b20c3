import type { Clock } from "@countersign/core";
import type { ExchangedCodeStore, ExchangedLogin, LoginProfile } from "../domain/login.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";

const REMEMBER_MS = 10 * 60_000;
/** The provider is called inside: longer than its deadlines. */
const TRANSACTION_MS = 20_000;

const toJson = ({ profile, nonce }: ExchangedLogin) => ({
  ...profile,
  app: { ...profile.app },
  authTime: profile.authTime?.toISOString() ?? null,
  nonce,
});
type Stored = Omit<LoginProfile, "authTime"> & { authTime: string | null; nonce?: string };
const fromJson = (json: Prisma.JsonValue): ExchangedLogin => {
  // The version before stores no nonce: then the login is bound to no key.
  const { nonce = "", authTime, ...profile } = json as unknown as Stored;
  return { profile: { ...profile, authTime: authTime === null ? undefined : new Date(authTime) }, nonce };
};

/**
 * Locks a code's row, or inserts one that has expired: of two requests with one code at once the second finds
 * what the first got for it. Where the exchange fails, the row goes with the transaction.
 */
async function lock(tx: Prisma.TransactionClient, codeHash: string, now: Date): Promise<void> {
  // An update whose condition fails still locks the row.
  await tx.$executeRaw`
    INSERT INTO exchanged_code (code_hash, binding, keys, profile, expires_at)
    VALUES (${codeHash}, '', '{}', '{}', ${now})
    ON CONFLICT (code_hash) DO UPDATE SET binding = EXCLUDED.binding WHERE false`;
}

/** Keeps the profiles that codes were exchanged for, in Postgres. */
export function prismaExchangedCodeStore(prisma: PrismaClient, clock: Clock): ExchangedCodeStore {
  return {
    once: (codeHash, { binding, keys }, exchange) =>
      prisma.$transaction(
        async (tx) => {
          const now = clock.now();
          await lock(tx, codeHash, now);
          const known = await tx.exchangedCode.findUnique({ where: { codeHash } });
          if (known && known.expiresAt > now) {
            // A challenge by e-mail names no key: the code is bound to the first key that comes with it.
            const unbound = known.keys.length === 0 || keys.length === 0;
            if (known.binding === binding && (unbound || known.keys.some((key) => keys.includes(key)))) {
              if (known.keys.length === 0 && keys.length > 0) {
                await tx.exchangedCode.update({ where: { codeHash }, data: { keys: [...keys] } });
              }
              return fromJson(known.profile);
            }
            await tx.exchangedCode.delete({ where: { codeHash } });
            return undefined;
          }
          const exchanged = await exchange();
          const expiresAt = new Date(now.getTime() + REMEMBER_MS);
          const data = { binding, keys: [...keys], profile: toJson(exchanged), expiresAt };
          await tx.exchangedCode.update({ where: { codeHash }, data });
          return exchanged;
        },
        { timeout: TRANSACTION_MS },
      ),
  };
}
