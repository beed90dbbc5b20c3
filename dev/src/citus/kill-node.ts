import { randomUUID } from "node:crypto";
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { postgresDir, services } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import { type Child, startChild } from "@countersign/local-stack/child.ts";
import { adminUrlOf, type Citus, citusBinaries } from "@countersign/local-stack/citus.ts";
import { freePort } from "@countersign/local-stack/ports.ts";
import { waitForAnswer } from "@countersign/local-stack/postgres.ts";
import { executeSql, withClient } from "@countersign/migrations/execute-sql.ts";
import { lockAccount, openPostgres, sql } from "@countersign/postgres";
import { amountOf } from "./amount.ts";
import { builtCitus } from "./build.ts";
import { onTemporaryCitus } from "./temporary.ts";

const VICTIM = 1;
const WRITERS = 8;
/** So long nobody notices that the node is dead: a setting of the failover, such as Patroni's. */
const DETECTION_MS = 5_000;

const query = <Row extends object>(url: string, text: string): Promise<Row[]> =>
  withClient(url, async (client) => (await client.query<Row>(text)).rows);

/** Starts a synchronous standby of a worker. */
async function startStandby(
  citus: Citus,
  stateDir: string,
): Promise<{ child: Child; port: number; promote(): Promise<void> }> {
  const { postgres, user } = citusBinaries(builtCitus());
  const worker = citus.nodes[VICTIM]!;
  const url = new URL(worker.adminUrl);
  const home = join(postgresDir(stateDir), "standby");
  mkdirSync(home, { recursive: true });
  if (user) chownSync(home, user.uid, user.gid);
  const data = join(home, "data");
  const asUser = { cwd: "/", env: { ...process.env, PGPASSWORD: url.password }, ...(user ? { user } : {}) };
  const own = ["-h", "127.0.0.1", "-p", url.port, "-U", "postgres"];
  await run(postgres.replace(/postgres$/, "pg_basebackup"), [...own, "-D", data, "-X", "stream", "-c", "fast"], asUser);
  writeFileSync(join(data, "standby.signal"), "");
  if (user) chownSync(join(data, "standby.signal"), user.uid, user.gid);
  chmodSync(data, 0o700);
  const port = await freePort();
  const settings = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "max_connections=300",
    "max_prepared_transactions=300",
    "max_worker_processes=32",
    "wal_level=logical",
    "shared_preload_libraries=citus",
    "citus.node_conninfo=sslmode=prefer",
    `primary_conninfo=host=127.0.0.1 port=${url.port} user=postgres password=${url.password} application_name=standby`,
  ];
  const child = await startChild({
    name: "standby",
    command: postgres,
    args: ["-D", data, "-p", String(port), ...settings.flatMap((setting) => ["-c", setting])],
    cwd: home,
    logFile: join(stateDir, "standby.log"),
    stopSignal: "SIGINT",
    env: { ...process.env, PGPASSFILE: citus.passwordFile },
    ...user,
  });
  const standbyUrl = new URL(worker.adminUrl);
  standbyUrl.port = String(port);
  await waitForAnswer(child, standbyUrl.href);
  await executeSql(worker.adminUrl, [
    "ALTER SYSTEM SET synchronous_standby_names = 'standby'",
    "SELECT pg_reload_conf()",
  ]);
  for (;;) {
    const [state] = await query<{ sync_state: string }>(worker.adminUrl, "SELECT sync_state FROM pg_stat_replication");
    if (state?.sync_state === "sync") break;
    await sleep(100);
  }
  const promote = async () => {
    await executeSql(standbyUrl.href, ["SELECT pg_promote()"]);
  };
  return { child, port, promote };
}

/**
 * `kill-node [--seconds 60]`: writes through the coordinator, kills a worker that has a synchronous standby,
 * promotes that after a while, and then looks for every row whose commit was acknowledged.
 */
export async function killNode(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { seconds: { type: "string", default: "60" } } });
  const seconds = amountOf("kill-node [--seconds <n>]", values.seconds, "seconds");
  return onTemporaryCitus(async (citus, stateDir) => {
    const standby = await startStandby(citus, stateDir);
    const key = openPostgres(citus.urlOf("key"), { connections: WRITERS, timeouts: { queryMs: 3_000 } });
    const started = performance.now();
    const now = () => (performance.now() - started) / 1_000;
    const victimPort = Number(new URL(citus.nodes[VICTIM]!.adminUrl).port);
    const admin = adminUrlOf(citus.adminUrl, "key");
    const isOfVictim = async (accounts: readonly string[]): Promise<Map<string, boolean>> => {
      const list = accounts.map((id) => `('${id}'::uuid)`).join(",");
      const rows = await query<{ id: string; victim: boolean }>(
        admin,
        `SELECT id::text, (SELECT nodeport FROM pg_dist_shard_placement
          WHERE shardid = get_shard_id_for_distribution_column('account_lock', id)) = ${victimPort} AS victim
         FROM (VALUES ${list}) AS v(id)`,
      );
      return new Map(rows.map(({ id, victim }) => [id, victim]));
    };
    // Accounts of both workers, before one is dead.
    const pool = Array.from({ length: 400 }, () => randomUUID());
    const places = await isOfVictim(pool);
    const acknowledged: string[] = [];
    const writes: { at: number; victim: boolean; done: boolean }[] = [];
    const until = started + seconds * 1_000;
    const write = async (accounts: readonly string[]): Promise<void> => {
      while (performance.now() < until) {
        const accountId = accounts[Math.floor(Math.random() * accounts.length)]!;
        const id = randomUUID();
        const done = await key
          .transaction(async (tx) => {
            await lockAccount(tx, accountId);
            await tx.execute(sql`
              INSERT INTO outbox (id, subject, payload, account_id) VALUES (${id}::uuid, 'x', '', ${accountId}::uuid)`);
          }, 3_000)
          .then(
            () => true,
            () => false,
          );
        if (done) acknowledged.push(id);
        else await sleep(50);
        writes.push({ at: now(), victim: places.get(accountId)!, done });
      }
    };
    const ofVictim = pool.filter((id) => places.get(id));
    const ofOthers = pool.filter((id) => !places.get(id));
    const work = Array.from({ length: WRITERS }, (_, i) => write(i % 2 === 0 ? ofVictim : ofOthers));

    await sleep((seconds / 3) * 1_000);
    const killedAt = now();
    await citus.nodes[VICTIM]!.child.kill();
    await sleep(DETECTION_MS);
    await standby.promote();
    for (const service of services) {
      await executeSql(adminUrlOf(citus.adminUrl, service), [
        `SELECT citus_update_node(nodeid, '127.0.0.1', ${standby.port}) FROM pg_dist_node WHERE nodeport = ${victimPort}`,
      ]);
    }
    const movedAt = now();
    await Promise.all(work);
    await key.close();

    const rows = await query<{ id: string }>(admin, "SELECT id::text FROM outbox");
    const there = new Set(rows.map(({ id }) => id));
    const lost = acknowledged.filter((id) => !there.has(id)).length;
    const recoveredAt = Math.min(
      ...writes.filter(({ at, victim, done }) => victim && done && at > movedAt).map(({ at }) => at),
    );
    const outage = writes.filter(({ at }) => at > killedAt && at < recoveredAt);
    const served = outage.filter(({ victim, done }) => !victim && done).length;
    const refusedElsewhere = outage.filter(({ victim, done }) => !victim && !done).length;
    await standby.child.kill();
    console.log(`${acknowledged.length} commits acknowledged, ${lost} lost`);
    console.log(
      `killed after ${killedAt.toFixed(1)} s; its accounts were refused for ${(recoveredAt - killedAt).toFixed(1)} s (${DETECTION_MS / 1_000} s until somebody acted)`,
    );
    console.log(`accounts of the other worker meanwhile: ${served} commits, ${refusedElsewhere} refused`);
    return lost === 0 && served > 0 && recoveredAt - killedAt <= 15 ? 0 : 1;
  });
}
