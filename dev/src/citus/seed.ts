import { parseArgs } from "node:util";
import { type ServiceName, services } from "@countersign/build/paths.ts";
import { adminUrlOf, type Citus } from "@countersign/local-stack/citus.ts";
import pg from "pg";
import { onTemporaryCitus } from "./temporary.ts";

const ROWS_PER_STATEMENT = 50_000;
const CONNECTIONS = 3;

/** For nodes that are filled: fewer checkpoints meanwhile, and statistics at the end. */
export const SEED_SETTINGS = ["shared_buffers=1GB", "max_wal_size=2GB", "autovacuum=off"];

/** The id of the n-th account, and the rows of an account that a sign-in and a signature read. */
const ACCOUNT = "md5('account' || n)::uuid";
const KEY = "md5('key' || n) || md5('x' || n) || md5('y' || n) || md5('z' || n)";
const ADDRESS = "substr(md5('address' || n), 1, 16)";

const STATEMENTS: readonly (readonly [ServiceName, string])[] = [
  [
    "auth",
    `INSERT INTO identity (issuer, subject, account_id, email, name, picture, created_at)
     SELECT 'https://login.example', 'subject-' || n, ${ACCOUNT}, n || '@example.com', 'A person', '', now()`,
  ],
  ["auth", `INSERT INTO account_access (account_id) SELECT ${ACCOUNT}`],
  [
    "auth",
    `INSERT INTO session (id, account_id, app_id, app_name, device_key_algorithm, device_key, account_key_algorithm,
       account_key, created_at, last_used_at, expires_at, refresh_id, refresh_expires_at)
     SELECT md5('session' || n)::uuid, ${ACCOUNT}, 'app', 'App', 'ES256', ${KEY}, 'ES256', ${KEY}, now(), now(),
       now() + interval '180 days', md5('refresh' || n)::uuid, now() + interval '30 days'`,
  ],
  [
    "device",
    `INSERT INTO device (id, account_id, algorithm, public_key, push_token, name, os_name, os_version,
       device_manufacturer, device_model, lang, type, sdk_version, created_at, last_used_at)
     SELECT md5('device' || n)::uuid, ${ACCOUNT}, 'ES256', ${KEY}, '', 'A phone', 'Android', '16', '', '', 'en',
       'mobile', '', now(), now()`,
  ],
  [
    "key",
    `INSERT INTO registration (id, account_id, chain_name, app_id, app_name, type, account_algorithm, account_key,
       device_algorithm, device_key, name, key_index, origin, created_at)
     SELECT md5('registration' || n)::uuid, ${ACCOUNT}, 'flow', 'app', 'App', 'device', 'ES256', ${KEY},
       'ES256', ${KEY}, '', 0, 'sign-up', now()`,
  ],
  [
    "account",
    `INSERT INTO account (id, profile_image_url, created_at, updated_at) SELECT ${ACCOUNT}, '', now(), now()`,
  ],
  [
    "account",
    `INSERT INTO address (account_id, chain_name, chain_type, address, chain_id)
     SELECT ${ACCOUNT}, 'flow', 'cadence', ${ADDRESS}, 1`,
  ],
  [
    "signer",
    `INSERT INTO binding (account_id, chain_name, address, server_key_index, server_key_version, created_at)
     SELECT ${ACCOUNT}, 'flow', ${ADDRESS}, 1, 1, now()`,
  ],
];

/** Inserts the accounts from number `from` up to `to`. */
export async function seedAccounts(citus: Citus, from: number, to: number): Promise<void> {
  const work: (() => Promise<unknown>)[] = [];
  const clients = await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const own = new Map<ServiceName, pg.Client>();
      for (const service of services) {
        const client = new pg.Client({ connectionString: citus.urlOf(service) });
        await client.connect();
        own.set(service, client);
      }
      return own;
    }),
  );
  // The statements of one service in their order: an address refers to its account.
  const ofServices = [...Map.groupBy(STATEMENTS, ([service]) => service)];
  const parts: { service: ServiceName; texts: string[]; first: number }[] = [];
  for (let first = from; first < to; first += ROWS_PER_STATEMENT)
    for (const [service, own] of ofServices) parts.push({ service, texts: own.map(([, text]) => text), first });
  for (const own of clients) {
    work.push(async () => {
      for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
        const last = Math.min(part.first + ROWS_PER_STATEMENT, to) - 1;
        for (const text of part.texts)
          await own.get(part.service)!.query(`${text} FROM generate_series(${part.first}, ${last}) AS n`);
      }
    });
  }
  try {
    await Promise.all(work.map((each) => each()));
    await Promise.all([...clients[0]!.values()].map((client) => client.query("ANALYZE")));
  } finally {
    await Promise.all(clients.flatMap((own) => [...own.values()].map((client) => client.end())));
  }
}

/** Returns the bytes of all tables with their indexes, on all nodes. */
export async function sizeOf(citus: Citus): Promise<number> {
  let bytes = 0;
  for (const service of services) {
    const client = new pg.Client({ connectionString: adminUrlOf(citus.adminUrl, service) });
    await client.connect();
    const { rows } = await client.query<{ bytes: string }>(
      "SELECT sum(citus_total_relation_size(logicalrelid))::text AS bytes FROM pg_dist_partition",
    );
    bytes += Number(rows[0]!.bytes);
    await client.end();
  }
  return bytes;
}

/** `seed <accounts>`: fills a Citus of its own, and says how long it took and how large it is. */
export async function seed(args: readonly string[]): Promise<number> {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true });
  const count = Number(positionals[0] ?? 1e6);
  return onTemporaryCitus(async (citus) => {
    const started = performance.now();
    await seedAccounts(citus, 0, count);
    const seconds = (performance.now() - started) / 1_000;
    const bytes = await sizeOf(citus);
    console.log(
      `${count} accounts in ${seconds.toFixed(0)} s: ${(bytes / 2 ** 30).toFixed(2)} GiB, ${Math.round(bytes / count)} bytes each`,
    );
    // The goals of 10^7 accounts, in proportion for fewer.
    const share = count / 1e7;
    return seconds <= Math.max(60, 1_200 * share) && bytes <= 15e9 * Math.max(share, 0.01) ? 0 : 1;
  }, SEED_SETTINGS);
}
