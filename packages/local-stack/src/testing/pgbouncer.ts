import { chownSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import pg from "pg";
import { type Child, startChild } from "../child.ts";
import { freePort } from "../ports.ts";
import { postgresHome } from "../postgres.ts";
import { findPostgres } from "../postgres-binaries.ts";

export interface PgbouncerOptions {
  /** The program, 1.21 or newer. */
  binary: string;
  stateDir: string;
  /** Connection string of a user of all databases. */
  adminUrl: string;
}

/**
 * Starts PgBouncer with the settings of deploy/pgbouncer.ini before every database of a server, with four
 * connections to each.
 */
export async function startPgbouncer(options: PgbouncerOptions): Promise<{ child: Child; url: string }> {
  const server = new URL(options.adminUrl);
  const port = await freePort();
  const timeouts = "SET statement_timeout = 10000; SET idle_in_transaction_session_timeout = 30000";
  const config = join(postgresHome(options.stateDir), "pgbouncer.ini");
  const { user: runAs } = findPostgres();
  const place = `host=127.0.0.1 port=${server.port} user=${server.username} password=${server.password}`;
  const own = [`listen_port = ${port}`, "listen_addr = 127.0.0.1", "unix_socket_dir =", "auth_type = any"];
  const shipped = readFileSync(join(root, "deploy/pgbouncer.ini"), "utf8")
    .replace("[databases]", `[databases]\n* = ${place} connect_query='${timeouts}'`)
    .replace(/^(listen_addr|auth_type|auth_file|default_pool_size) = .*$/gm, "");
  writeFileSync(config, [shipped, ...own, "default_pool_size = 4", ""].join("\n"), { mode: 0o600 });
  if (runAs) chownSync(config, runAs.uid, runAs.gid);
  const url = new URL(server);
  url.port = String(port);
  const logFile = join(options.stateDir, "pgbouncer.log");
  const child = await startChild({ name: "pgbouncer", command: options.binary, args: [config], logFile, ...runAs });
  for (;;) {
    const client = new pg.Client({ connectionString: url.href });
    client.on("error", () => undefined);
    try {
      await client.connect();
      await client.end();
      return { child, url: url.href };
    } catch (error) {
      if (!child.running()) throw new Error(`PgBouncer ended while it started: see ${logFile}`, { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
