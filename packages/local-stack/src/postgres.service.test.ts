import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresDir } from "@countersign/build/paths.ts";
import pg from "pg";
import { afterEach, expect, it } from "vitest";
import { freePort } from "./ports.ts";
import { startPostgres } from "./postgres.ts";

const stateDir = mkdtempSync(join(tmpdir(), "countersign-cluster-"));
afterEach(() => {
  for (const path of [stateDir, postgresDir(stateDir)]) rmSync(path, { recursive: true, force: true });
});

/** Starts the state's cluster, runs a statement, and stops it. */
async function withCluster(sql: string): Promise<{ replaced: boolean; rows: unknown[] }> {
  const logFile = join(stateDir, "postgres.log");
  const { child, replaced, adminUrl } = await startPostgres({
    stateDir,
    port: await freePort(),
    logFile,
    throwAway: true,
  });
  const client = new pg.Client({ connectionString: adminUrl });
  try {
    await client.connect();
    return { replaced, rows: (await client.query(sql)).rows };
  } finally {
    await client.end();
    await child.stop();
  }
}

it("a cluster continues with the state that it was made with, and is created again with another", {
  timeout: 60_000,
}, async () => {
  const kept = "SELECT to_regclass('kept')::text AS kept";
  expect((await withCluster("CREATE TABLE kept ()")).replaced).toBe(false);
  expect(await withCluster(kept)).toEqual({ replaced: false, rows: [{ kept: "kept" }] });
  // The checkout is deleted and cloned again; the cluster lies elsewhere and is still there.
  rmSync(stateDir, { recursive: true });
  expect(await withCluster(kept)).toEqual({ replaced: true, rows: [{ kept: null }] });
  expect((await withCluster(kept)).replaced).toBe(false);
});
