import { root } from "@countersign/build/paths.ts";
import { expect, test } from "vitest";
import { checkDistribution, findInSchema, findSingleNode } from "./check-distribution.ts";

test.each([
  "SELECT pg_notify('outbox', '')",
  "await client.query('LISTEN news')",
  "SELECT pg_advisory_xact_lock(1)",
  "SELECT pg_try_advisory_lock(1)",
  "pg_current_xact_id()::text::bigint",
  "pg_snapshot_xmin(pg_current_snapshot())",
  "SELECT txid_current()",
  "SELECT xmin FROM session",
  "CREATE TRIGGER t AFTER INSERT ON outbox",
  "CREATE OR REPLACE TRIGGER t AFTER INSERT ON outbox",
])("%s is refused", (text) => {
  expect(findSingleNode(text)).toHaveLength(1);
});

test.each([
  "AUTH_LISTEN: listenAddress",
  "server.listen(port)",
  "SELECT FROM session FOR UPDATE",
  "txId",
  "DROP TRIGGER t ON a",
])("%s is not", (text) => {
  expect(findSingleNode(text)).toEqual([]);
});

const MAKES = `CREATE FUNCTION "notify_outbox"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('outbox', '');
  RETURN NULL;
END $$;
CREATE TRIGGER "outbox_notify" AFTER INSERT ON "outbox" FOR EACH STATEMENT EXECUTE FUNCTION "notify_outbox"();`;
const DROPS = `DROP TRIGGER "outbox_notify" ON "outbox";
DROP FUNCTION "notify_outbox"();`;

test("a schema is what all migrations leave", () => {
  expect(findInSchema([MAKES])).toEqual(["trigger outbox_notify on outbox", expect.stringContaining("pg_notify")]);
  expect(findInSchema([MAKES, DROPS])).toEqual([]);
  expect(findInSchema([MAKES, DROPS, MAKES])).toHaveLength(2);
});

test("nothing of this repository works on one node of Postgres only", { timeout: 30_000 }, () => {
  expect(checkDistribution(root)).toEqual([]);
});
