import { parseArgs } from "node:util";
import { openPostgres } from "@countersign/postgres";
import { PrismaClient as AuthPrisma } from "../../../services/auth/src/store/generated/client.ts";
import { postgresBlockedKeyStore } from "../../../services/auth/src/store/postgres-blocked-key-store.ts";
import { postgresSessionStore } from "../../../services/auth/src/store/postgres-session-store.ts";
import { PrismaClient as KeyPrisma } from "../../../services/key/src/store/generated/client.ts";
import { postgresKeyStore } from "../../../services/key/src/store/postgres-key-store.ts";
import { SEED_SETTINGS, seedAccounts } from "./seed.ts";
import { seededId, seededKey } from "./seed-rows.ts";
import { onTemporaryCitus, quantile } from "./temporary.ts";

const WARM_UP = 2_000;
const SAMPLES = 6_000;
const PARALLEL = 2;

/** `latency 1e5 1e6 1e7`: a sign-in's reads and a refresh with so many accounts, of random ones. */
export async function latency(args: readonly string[]): Promise<number> {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true });
  const sizes = (positionals.length > 0 ? positionals : ["1e5", "1e6", "1e7"]).map(Number);
  return onTemporaryCitus(async (citus) => {
    const auth = openPostgres(citus.urlOf("auth"));
    const key = openPostgres(citus.urlOf("key"));
    const keys = postgresKeyStore(new KeyPrisma({ adapter: key.adapter }), key);
    const blocked = postgresBlockedKeyStore(auth);
    const sessions = postgresSessionStore(new AuthPrisma({ adapter: auth.adapter }), auth);
    const now = new Date();
    const once = async (size: number): Promise<void> => {
      const n = Math.floor(Math.random() * size);
      const accountId = seededId("account", n);
      const publicKey = seededKey(n);
      const found = await keys.findByKey(accountId, "flow", { algorithm: "ES256", publicKey });
      if (found.length !== 1) throw new Error(`account ${n} is missing`);
      await blocked.hasLeft(accountId);
      const session = { id: seededId("session", n), accountId };
      await sessions.update(session, (next) => ({ next: { ...next, lastUsedAt: now }, result: true }), now, "");
    };
    const run = async (size: number, count: number): Promise<number[]> => {
      const times: number[] = [];
      const worker = async () => {
        while (times.length < count) {
          const started = performance.now();
          await once(size);
          times.push(performance.now() - started);
        }
      };
      await Promise.all(Array.from({ length: PARALLEL }, worker));
      return times.sort((a, b) => a - b);
    };
    const rows: { size: number; p50: number; p99: number }[] = [];
    let seeded = 0;
    for (const size of sizes) {
      await seedAccounts(citus, seeded, size);
      seeded = size;
      await run(size, WARM_UP);
      const times = await run(size, SAMPLES);
      const row = { size, p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
      rows.push(row);
      console.log(`${size} accounts: p50 ${row.p50.toFixed(2)} ms, p99 ${row.p99.toFixed(2)} ms`);
    }
    await Promise.all([auth.close(), key.close()]);
    const [first] = rows as [(typeof rows)[0]];
    return rows.every(({ p50, p99 }) => p50 <= 1.3 * first.p50 && p99 <= 2 * first.p99) ? 0 : 1;
  }, SEED_SETTINGS);
}
