import { parseArgs } from "node:util";
import type { Citus } from "@countersign/local-stack/citus.ts";
import { openPostgres } from "@countersign/postgres";
import { PrismaClient as AuthPrisma } from "../../../services/auth/src/store/generated/client.ts";
import { postgresBlockedKeyStore } from "../../../services/auth/src/store/postgres-blocked-key-store.ts";
import { postgresSessionStore } from "../../../services/auth/src/store/postgres-session-store.ts";
import { PrismaClient as KeyPrisma } from "../../../services/key/src/store/generated/client.ts";
import { postgresKeyStore } from "../../../services/key/src/store/postgres-key-store.ts";
import { amountOf } from "./amount.ts";
import { fill, SEED_SETTINGS } from "./seed.ts";
import { seededId, seededKey } from "./seed-rows.ts";
import { onTemporaryCitus, quantile } from "./temporary.ts";

const WARM_UP = 2_000;
const SAMPLES = 6_000;
/** Samples of one size in a row, before those of the next: all sizes share the machine as it is. */
const SAMPLES_IN_A_ROW = 200;
const PARALLEL = 2;

/** Runs `work` with databases of each size. */
async function withSizes(sizes: readonly number[], work: (all: readonly Citus[]) => Promise<number>): Promise<number> {
  const open = (made: readonly Citus[]): Promise<number> => {
    const size = sizes[made.length];
    if (size === undefined) return work(made);
    return onTemporaryCitus(async (citus) => {
      await fill(citus, size);
      return open([...made, citus]);
    }, SEED_SETTINGS);
  };
  return open([]);
}

/** Opens the services' stores on databases with so many accounts. */
function openStores(citus: Citus, size: number) {
  const auth = openPostgres(citus.urlOf("auth"));
  const key = openPostgres(citus.urlOf("key"));
  const keys = postgresKeyStore(new KeyPrisma({ adapter: key.adapter }), key);
  const blocked = postgresBlockedKeyStore(auth);
  const sessions = postgresSessionStore(new AuthPrisma({ adapter: auth.adapter }), auth);
  const now = new Date();
  const once = async (): Promise<void> => {
    const n = Math.floor(Math.random() * size);
    const accountId = seededId("account", n);
    const found = await keys.findByKey(accountId, "flow", { algorithm: "ES256", publicKey: seededKey(n) });
    if (found.length !== 1) throw new Error(`account ${n} is missing`);
    await blocked.hasLeft(accountId);
    const session = { id: seededId("session", n), accountId };
    await sessions.update(session, (next) => ({ next: { ...next, lastUsedAt: now }, result: true }), now, "");
  };
  return {
    size,
    times: [] as number[],
    /** Returns the milliseconds of each of so many operations. */
    async run(count: number): Promise<number[]> {
      const times: number[] = [];
      const worker = async () => {
        for (let i = 0; i < count / PARALLEL; i++) {
          const started = performance.now();
          await once();
          times.push(performance.now() - started);
        }
      };
      await Promise.all(Array.from({ length: PARALLEL }, worker));
      return times;
    },
    close: () => Promise.all([auth.close(), key.close()]),
  };
}

/** `latency 1e5 1e6 1e7`: a sign-in's reads and a refresh with so many accounts, of random ones. */
export async function latency(args: readonly string[]): Promise<number> {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true });
  const sizes = (positionals.length > 0 ? positionals : ["1e5", "1e6", "1e7"]).map((size) =>
    amountOf("latency <accounts>…", size, "accounts"),
  );
  return withSizes(sizes, async (all) => {
    const stores = all.map((citus, i) => openStores(citus, sizes[i]!));
    for (const { run } of stores) await run(WARM_UP);
    for (let done = 0; done < SAMPLES; done += SAMPLES_IN_A_ROW)
      for (const { run, times } of stores) times.push(...(await run(SAMPLES_IN_A_ROW)));
    const rows = stores.map(({ size, times }) => {
      const sorted = times.sort((a, b) => a - b);
      return { size, p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) };
    });
    for (const { size, p50, p99 } of rows)
      console.log(`${size} accounts: p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`);
    await Promise.all(stores.map(({ close }) => close()));
    const [first] = rows as [(typeof rows)[0]];
    return rows.every(({ p50, p99 }) => p50 <= 1.3 * first.p50 && p99 <= 2 * first.p99) ? 0 : 1;
  });
}
