import { AppError, backoffMs, type Clock, sleepUntil } from "@countersign/core";
import type { ExchangedCodeStore, ExchangedLogin, LoginProfile } from "../domain/login.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";

const REMEMBER_MS = 10 * 60_000;
/** How long a code is claimed by the request that exchanges it: longer than all deadlines of the provider. */
const CLAIM_MS = 25_000;
/** The binding of a code that is being exchanged. */
const CLAIMED = "";

const toJson = ({ profile, nonce }: ExchangedLogin) => ({
  ...profile,
  app: { ...profile.app },
  authTime: profile.authTime?.toISOString() ?? null,
  nonce,
});
type Stored = Omit<LoginProfile, "authTime"> & { authTime: string | null; nonce: string };
const fromJson = (json: Prisma.JsonValue): ExchangedLogin => {
  const { nonce, authTime, ...profile } = json as unknown as Stored;
  return { profile: { ...profile, authTime: authTime === null ? undefined : new Date(authTime) }, nonce };
};

type Exchange = Parameters<ExchangedCodeStore["once"]>[2];

/**
 * Keeps the profiles that codes were exchanged for, in Postgres. Nothing is locked and no connection is kept
 * while a provider answers, perhaps slowly: the row says that a code is being exchanged, and copies look
 * again.
 */
export function prismaExchangedCodeStore(prisma: PrismaClient, clock: Clock): ExchangedCodeStore {
  /** Claims a code; false where it is remembered, or claimed by a request that has not ended. */
  async function claim(codeHash: string, now: Date): Promise<boolean> {
    const count = await prisma.$executeRaw`
      INSERT INTO exchanged_code AS c (code_hash, binding, keys, profile, expires_at)
      VALUES (${codeHash}, ${CLAIMED}, '{}', '{}', ${new Date(now.getTime() + CLAIM_MS)})
      ON CONFLICT (code_hash) DO UPDATE SET binding = EXCLUDED.binding, keys = EXCLUDED.keys,
        profile = EXCLUDED.profile, expires_at = EXCLUDED.expires_at
      WHERE c.expires_at <= ${now}`;
    return count === 1;
  }

  async function exchangeClaimed(codeHash: string, used: { binding: string; keys: string[] }, exchange: Exchange) {
    const where = { codeHash, binding: CLAIMED };
    try {
      const exchanged = await exchange();
      const expiresAt = new Date(clock.now().getTime() + REMEMBER_MS);
      await prisma.exchangedCode.updateMany({ where, data: { ...used, profile: toJson(exchanged), expiresAt } });
      return exchanged;
    } catch (error) {
      // The error counts; should this fail too, the claim ends by itself.
      await prisma.exchangedCode.deleteMany({ where }).catch(() => undefined);
      throw error;
    }
  }

  return {
    async once(codeHash, { binding, keys: [...keys] }, exchange) {
      const until = clock.now().getTime() + CLAIM_MS;
      for (let look = 1; clock.now().getTime() <= until; look += 1) {
        if (await claim(codeHash, clock.now())) return exchangeClaimed(codeHash, { binding, keys }, exchange);
        const known = await prisma.exchangedCode.findUnique({ where: { codeHash } });
        if (known && known.binding !== CLAIMED) {
          const fits = known.keys.length === 0 || keys.length === 0 || known.keys.some((key) => keys.includes(key));
          if (known.binding !== binding || !fits) {
            await prisma.exchangedCode.deleteMany({ where: { codeHash } });
            return undefined;
          }
          // A challenge by e-mail names no key: the code is bound to the first key that comes with it.
          if (known.keys.length > 0 || keys.length === 0) return fromJson(known.profile);
          const where = { codeHash, keys: { isEmpty: true }, binding };
          const { count } = await prisma.exchangedCode.updateMany({ where, data: { keys } });
          if (count === 1) return fromJson(known.profile);
        }
        await sleepUntil(backoffMs(look), []);
      }
      // Copies take turns: without an end they could come faster than they go, and nobody waits so long.
      throw new AppError("Unavailable", { retryAfterSeconds: 1 });
    },
  };
}
