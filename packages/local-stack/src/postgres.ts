import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "@countersign/build/fail.ts";
import { postgresDir } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import pg from "pg";
import { type Child, logTail, type StartChild, startChild } from "./child.ts";
import { type DatabaseUrls, databaseUrls } from "./databases.ts";
import { findPostgres, ownDirectory, type PostgresBinaries } from "./postgres-binaries.ts";

export interface PostgresOptions {
  /** Names the data directory: each state directory has a cluster of its own. */
  stateDir: string;
  /** Where the data directory is. Default: postgresDir(stateDir). */
  home?: string;
  port: number;
  logFile: string;
  /**
   * For temporary clusters: does not wait for the disk. Committed data still survives a kill of the server.
   */
  throwAway?: boolean;
  /** The process's name. Default postgres. */
  name?: string;
  /** Further settings of the server, as name=value. */
  settings?: readonly string[];
  /** Default: those that npm installed. */
  binaries?: PostgresBinaries;
  /** The superuser's password of a new cluster. Default: a random one. */
  password?: string;
  /** The server's environment, given the superuser's password. Default: ours. */
  env?: (password: string) => NodeJS.ProcessEnv;
  start?: StartChild;
}

export interface Postgres extends DatabaseUrls {
  child: Child;
  /** A cluster stood there that is not this state's, and was removed. */
  replaced: boolean;
}

/**
 * Starts the cluster, initialising it the first time, and waits until it answers. Loopback only, passwords
 * always.
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const binaries = options.binaries ?? findPostgres();
  const home = options.home ?? postgresDir(options.stateDir);
  ownDirectory(home);
  const data = join(home, "data");
  const passwordFile = join(home, "password");
  const own = [join(options.stateDir, "postgres-cluster"), join(home, "cluster")] as const;
  const found = existsSync(join(data, "PG_VERSION"));
  const replaced = found && !isSame(...own);
  if (!found || replaced) {
    rmSync(data, { recursive: true, force: true });
    mkdirSync(data, { mode: 0o700 });
    writeFileSync(passwordFile, options.password ?? randomBytes(24).toString("hex"), { mode: 0o600 });
    if (binaries.user) {
      for (const path of [data, passwordFile]) chownSync(path, binaries.user.uid, binaries.user.gid);
    }
    chmodSync(data, 0o700);
    await initdb(binaries.initdb, data, passwordFile, binaries.user);
    mkdirSync(options.stateDir, { recursive: true });
    const id = randomBytes(16).toString("hex");
    for (const file of own) writeFileSync(file, id);
  }
  const password = readFileSync(passwordFile, "utf8").trim();
  const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200"];
  if (options.throwAway) settings.push("fsync=off", "full_page_writes=off");
  settings.push(...(options.settings ?? []));
  const child = await (options.start ?? startChild)({
    name: options.name ?? "postgres",
    command: binaries.postgres,
    args: ["-D", data, "-p", String(options.port), ...settings.flatMap((setting) => ["-c", setting])],
    cwd: home,
    logFile: options.logFile,
    stopSignal: "SIGINT",
    ...(options.env && { env: options.env(password) }),
    ...binaries.user,
  });
  const urls = databaseUrls(password, `127.0.0.1:${options.port}`);
  await waitForAnswer(child, urls.adminUrl);
  return { child, replaced, ...urls };
}

/**
 * Returns whether the state and the cluster belong together. The cluster outlives a checkout that is deleted,
 * and its content is sealed with keys that were deleted too: a new checkout at the same path would be ready,
 * and fail at its first sign-up.
 */
function isSame(state: string, cluster: string): boolean {
  return existsSync(state) && existsSync(cluster) && readFileSync(state, "utf8") === readFileSync(cluster, "utf8");
}

async function initdb(command: string, data: string, passwordFile: string, user?: { uid: number; gid: number }) {
  const args = [`--pgdata=${data}`, "--auth=scram-sha-256", "--username=postgres", `--pwfile=${passwordFile}`];
  args.push("--encoding=UTF8", "--locale=C", "--no-instructions");
  await run(command, args, { cwd: "/", ...(user ? { user } : {}) });
}

/** Waits until a server of databases answers. Error: Failure where it ends before. */
export async function waitForAnswer(child: Child, url: string): Promise<void> {
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    client.on("error", () => undefined);
    try {
      await client.connect();
      await client.end();
      return;
    } catch {
      if (!child.running()) throw new Failure(`${child.name} ended while it started:\n${logTail(child.logFile)}`);
      await sleep(50);
    }
  }
}
