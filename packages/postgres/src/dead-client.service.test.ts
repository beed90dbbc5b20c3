import { readFileSync } from "node:fs";
import { createTestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import pg from "pg";
import { expect, inject, it } from "vitest";

it("by the settings of deploy/postgres/roles.sql the statement of a client that is gone ends, and its locks", {
  timeout: 30_000,
}, async () => {
  const database = await createTestDatabase("auth");
  const name = new URL(database.url).pathname.slice(1);
  const operator = new pg.Client({ connectionString: inject("postgresUrl") });
  await operator.connect();
  const roles = readFileSync(new URL("../../../deploy/postgres/roles.sql", import.meta.url), "utf8");
  for (const [statement] of roles.matchAll(/^ALTER DATABASE countersign_auth SET .*;$/gm))
    await operator.query(statement.replace("countersign_auth", `"${name}"`));
  const client = new pg.Client({ connectionString: database.url });
  client.on("error", () => {});
  await client.connect();
  const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
  const statement = client.query("SELECT pg_sleep(60)").catch(() => undefined);
  const active = async () => {
    const found = await operator.query("SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND state = 'active'", [
      rows[0].pid,
    ]);
    return found.rows.length;
  };
  await expect.poll(active).toBe(1);
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
  await statement;
  await expect.poll(active, { timeout: 20_000 }).toBe(0);
  await operator.end();
  await database.drop();
});
