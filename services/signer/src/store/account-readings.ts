import { type AccountTable, accountReadings, type Term } from "@countersign/admin-actions";
import { type Clock, DAY_MS, HOUR_MS } from "@countersign/core";
import { type Postgres, type Queries, type Statement, sql } from "@countersign/postgres";
import { readWindowId } from "../budget/budget.ts";
import { UNITS_PER_FLOW } from "../budget/budget-rules.ts";
import { commonBudgetUse } from "./postgres-budget-usage.ts";

/** Tables with rows about accounts, as administrators see them; docs/privacy.md says why each is kept. */
const ACCOUNT_TABLES: readonly AccountTable[] = [
  { name: "binding", newest: "created_at" },
  { name: "binding_version", newest: "created_at" },
  { name: "server_key_rotation", newest: "created_at" },
  { name: "signed_creation", newest: "signed_at" },
  { name: "time_lock", newest: "started_at" },
  { name: "recovery_key", newest: "signed_at" },
  { name: "added_key", newest: "signed_at" },
  { name: "revoked_key", newest: "signed_at" },
  { name: "signed_template", newest: "signed_at" },
  { name: "account_lock", newest: "account_id", isNotExported: true },
  { name: "admin_action", newest: "id", isNotExported: true },
];

const finderOf = (chains: { keys(): Iterable<string> }) => (term: Term) => {
  if (term.kind === "id")
    return sql`
      SELECT account_id FROM binding WHERE account_id = ${term.text}::uuid
      UNION SELECT account_id FROM time_lock WHERE id = ${term.text}::uuid LIMIT 20`;
  if (term.kind !== "address") return undefined;
  return sql`SELECT account_id FROM binding WHERE chain_name = ANY(${[...chains.keys()]}) AND address = ${term.text} LIMIT 20`;
};

/** How far back decisions are looked for: the audit log has no index over accounts, only over times. */
const WINDOWS_MS = [HOUR_MS, DAY_MS, 7 * DAY_MS];

/** Returns the newest decisions of a kind, as far as they are found in time. */
async function newestDecisions(postgres: Postgres, clock: Clock, where: (since: Date) => Statement): Promise<object[]> {
  for (const ms of WINDOWS_MS) {
    const since = new Date(clock.now().getTime() - ms);
    const rows = await postgres
      .transaction(async (tx) => {
        await tx.execute(sql`SET LOCAL statement_timeout = '1s'`);
        return tx.query<object>(where(since));
      })
      // Longer than a statement may take: the smaller window has to do.
      .catch(() => undefined);
    if (rows === undefined || rows.length > 0) return rows ?? [];
  }
  return [];
}

const decisionsAbout = (postgres: Postgres, clock: Clock) => (accountId: string, limit: number) =>
  newestDecisions(
    postgres,
    clock,
    (since) => sql`
      SELECT time, operation, verdict, chain_name, session_id, caller, message_hash FROM audit_record
      WHERE batch_time > ${since}::timestamptz AND text LIKE ${`%${accountId}%`} AND account_id = ${accountId}
      ORDER BY time DESC LIMIT ${limit}::int`,
  );

const refusals = (postgres: Postgres, clock: Clock) => (limit: number) =>
  newestDecisions(
    postgres,
    clock,
    (since) => sql`
      SELECT time, account_id, operation, verdict, chain_name, session_id, caller, message_hash FROM audit_record
      WHERE batch_time > ${since}::timestamptz AND verdict <> 'signed' ORDER BY time DESC LIMIT ${limit}::int`,
  );

/** The budgets of service, apps and backends in their windows. */
const budgets = (queries: Queries, clock: Clock) => async () => {
  const used = await commonBudgetUse(queries, clock.now());
  return used.map(({ chainName, windowId, endsAt, count, fees }) => {
    const { scope, whose, windowSeconds } = readWindowId(windowId);
    const window = { scope, whose, window_seconds: windowSeconds, chain_name: chainName };
    return { ...window, count, ends_at: endsAt, fees_flow: (fees / UNITS_PER_FLOW).toFixed(8) };
  });
};

/** Finds and describes accounts in the signer's database. */
export const signerReadings = (postgres: Postgres, chains: { keys(): Iterable<string> }, clock: Clock) =>
  accountReadings(
    postgres,
    ACCOUNT_TABLES,
    finderOf(chains),
    { "last decisions": decisionsAbout(postgres, clock) },
    { refusals: refusals(postgres, clock), budgets: budgets(postgres, clock) },
  );
