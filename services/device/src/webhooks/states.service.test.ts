import { sql } from "@countersign/postgres";
import { expect, it } from "vitest";
import { postgresWebhookStore } from "../store/postgres-webhook-store.ts";
import { postgres } from "../testing/store-fixture.ts";

interface Plan {
  readonly "Node Type": string;
  readonly "Actual Rows": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly Plan[];
}
/** Returns the number of rows that the scans of a plan read. */
const rowsRead = (plan: Plan): number =>
  (plan["Node Type"].includes("Scan") ? plan["Actual Rows"] + (plan["Rows Removed by Filter"] ?? 0) : 0) +
  (plan.Plans ?? []).reduce((sum, each) => sum + rowsRead(each), 0);

it("the state of an endpoint that has just begun to fail is read without its delivered messages", async () => {
  const add = (state: string, from: number, count: number) =>
    postgres.execute(sql`
      INSERT INTO webhook_delivery (account_id, endpoint, event_id, type, body, state, attempts, last_result, created_at,
        give_up_at, forget_at)
      SELECT gen_random_uuid(), 'wallet', gen_random_uuid(), 't', '', ${state}, 1, 'status 500',
        t, t + interval '3 days', t + interval '10 days'
      FROM (SELECT now() - interval '9 days' + (n + ${from}::int) * interval '1 s' AS t
        FROM generate_series(1, ${count}::int) AS n) AS x`);
  await add("delivered", 0, 20_000);
  await add("waiting", 20_000, 700);
  await postgres.execute(sql`ANALYZE webhook_delivery`);
  let read = 0;
  const store = postgresWebhookStore({
    ...postgres,
    async query(statement) {
      const { name, text, values } = statement;
      const explain = { name: `explain ${name}`, text: `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values };
      const [row] = await postgres.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(explain);
      read += rowsRead(row!["QUERY PLAN"][0].Plan);
      return postgres.query(statement);
    },
  });
  const [state] = await store.states(["wallet"]);
  expect(state).toMatchObject({ waiting: 700, dead: 0, lastError: "status 500" });
  expect(read).toBeLessThan(5_000);
});
