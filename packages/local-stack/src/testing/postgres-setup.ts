import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresDir } from "@countersign/build/paths.ts";
import type { TestProject } from "vitest/node";
import { onPort } from "../databases.ts";
import { startPgbouncer } from "../pgbouncer.ts";
import { freePort } from "../ports.ts";
import { startPostgres } from "../postgres.ts";
import "./provided.ts";

/**
 * Vitest's global set-up of the `service` project: one throw-away Postgres for the run, behind the PgBouncer
 * that CS_TEST_PGBOUNCER names, if any.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const stateDir = mkdtempSync(join(tmpdir(), "countersign-test-"));
  const remove = () => {
    for (const path of [stateDir, postgresDir(stateDir)]) rmSync(path, { recursive: true, force: true });
  };
  const logFile = join(stateDir, "postgres.log");
  const postgres = await startPostgres({ stateDir, port: await freePort(), logFile, throwAway: true });
  project.provide("postgresUrl", postgres.adminUrl);
  const binary = process.env.CS_TEST_PGBOUNCER;
  const pooler = binary ? await startPooler(binary, stateDir, postgres.adminUrl) : undefined;
  project.provide("pooledUrl", pooler?.url ?? postgres.adminUrl);
  return async () => {
    await pooler?.child.stop();
    await postgres.child.stop();
    remove();
  };
}

async function startPooler(binary: string, stateDir: string, adminUrl: string) {
  const port = await freePort();
  const logFile = join(stateDir, "pgbouncer.log");
  const child = await startPgbouncer({ binary, stateDir, port, databases: { "*": adminUrl }, logFile });
  return { child, url: onPort(adminUrl, port) };
}
