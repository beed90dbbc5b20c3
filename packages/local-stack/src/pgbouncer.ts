import { chownSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { postgresDir, root } from "@countersign/build/paths.ts";
import { type Child, type StartChild, startChild } from "./child.ts";
import { onPort } from "./databases.ts";
import { waitForAnswer } from "./postgres.ts";
import { findPostgres } from "./postgres-binaries.ts";

export interface PgbouncerOptions {
  /** The program, 1.21 or newer: a path, or a name on PATH. */
  binary: string;
  /** Of the stack or test run that the Postgres server belongs to. */
  stateDir: string;
  port: number;
  /** Connection strings of Postgres by the name of the database, "*": of any. */
  databases: Readonly<Record<string, string>>;
  logFile: string;
  start?: StartChild;
}

/** The share of one replica in the 80 connections that twenty replicas have to a database. */
const POOL_SIZE = 4;

/** Returns the settings of deploy/pgbouncer.ini for these databases, each entered by its string's user. */
function settingsOf({ port, databases }: Pick<PgbouncerOptions, "port" | "databases">): string {
  const shipped = readFileSync(join(root, "deploy/pgbouncer.ini"), "utf8");
  const [limits] = /connect_query='.*'/.exec(shipped)!;
  const entries = Object.entries(databases).map(([name, url]) => {
    const { hostname, port: server, username, password } = new URL(url);
    return `${name} = host=${hostname} port=${server} user=${username} password=${password} ${limits}`;
  });
  const own = [`listen_port = ${port}`, "listen_addr = 127.0.0.1", "unix_socket_dir =", "auth_type = any"];
  return [
    "[databases]",
    ...entries,
    shipped
      .slice(shipped.indexOf("[pgbouncer]"))
      .replace(/^(listen_addr|auth_type|auth_file|default_pool_size|(client|server)_tls_\w+) = .*$/gm, ""),
    ...own,
    `default_pool_size = ${POOL_SIZE}`,
    "",
  ].join("\n");
}

/**
 * Starts PgBouncer with the settings of deploy/pgbouncer.ini, four connections to each database, and waits
 * until it answers.
 */
export async function startPgbouncer(options: PgbouncerOptions): Promise<Child> {
  const { binary, stateDir, port, databases, logFile, start = startChild } = options;
  const config = join(postgresDir(stateDir), "pgbouncer.ini");
  const { user } = findPostgres();
  writeFileSync(config, settingsOf(options), { mode: 0o600 });
  if (user) chownSync(config, user.uid, user.gid);
  const child = await start({
    name: "pgbouncer",
    command: binary,
    args: [config],
    logFile,
    stopSignal: "SIGINT",
    ...user,
  });
  const [url] = Object.values(databases);
  await waitForAnswer(child, onPort(url!, port));
  return child;
}
