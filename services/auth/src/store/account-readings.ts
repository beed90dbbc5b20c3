import { type AccountTable, accountReadings, type Term } from "@countersign/admin-actions";
import { type Queries, sql } from "@countersign/postgres";

/**
 * Tables with rows about accounts, as administrators see them; docs/privacy.md says why each is kept.
 * Challenges and Idempotency-Keys are not among them: they have no index over accounts, and end within a day.
 */
export const ACCOUNT_TABLES: readonly AccountTable[] = [
  { name: "identity", newest: "created_at" },
  { name: "sign_up", newest: "created_at" },
  { name: "frozen_account", newest: "frozen_at" },
  { name: "freeze_party", newest: "asked_at" },
  { name: "account_hold", newest: "placed_at", withoutInExport: ["lifted_by", "lift_reason"] },
  { name: "left_account", newest: "left_at" },
  { name: "recovery_lift", newest: "last_at" },
  { name: "session", newest: "created_at", without: ["refresh_id", "previous_refresh_id"] },
  { name: "former_session", newest: "first_full_at" },
  { name: "account_app", newest: "app_id" },
  { name: "two_factor_sign_in", newest: "created_at", without: ["token_id"] },
  { name: "blocked_key", newest: "until" },
  { name: "passkey_counter", newest: "updated_at" },
  { name: "account_access", newest: "account_id", isNotExported: true },
  { name: "admin_action", newest: "id", isNotExported: true },
];

function finder(term: Term) {
  switch (term.kind) {
    case "id":
      return sql`
        SELECT account_id FROM identity WHERE account_id = ${term.text}::uuid
        UNION SELECT account_id FROM account_access WHERE account_id = ${term.text}::uuid
        UNION SELECT account_id FROM session WHERE id = ${term.text}::uuid
        UNION SELECT account_id FROM two_factor_sign_in WHERE id = ${term.text}::uuid
        UNION SELECT account_id FROM account_hold WHERE alert_id = ${term.text}::uuid LIMIT 20`;
    case "email":
      return sql`SELECT account_id FROM identity WHERE lower(email) = lower(${term.text}) LIMIT 20`;
    case "identity":
      return sql`SELECT account_id FROM identity WHERE issuer = ${term.issuer} AND subject = ${term.subject}`;
    case "key":
      return sql`
        SELECT account_id FROM sign_up WHERE account_key = ${term.text}
        UNION SELECT account_id FROM sign_up WHERE device_key = ${term.text} LIMIT 20`;
    case "address":
      return undefined;
  }
}

/**
 * The ids of accounts begin with their time, so the newest rows are the last ones of the primary key. Ids
 * with a later time are of accounts that were adopted with an id of their own.
 */
const newestSignUps = (queries: Queries) => (limit: number) =>
  queries.query<object>(sql`
    SELECT account_id, chain_name, app_id,
      created_at, deployed_at, key_registered_at, device_registered_at, completed_at
    FROM sign_up
    WHERE account_id < (lpad(to_hex((date_part('epoch', statement_timestamp()) * 1000)::bigint + 60000), 12, '0')
      || repeat('0', 20))::uuid
    ORDER BY account_id DESC LIMIT ${limit}::int`);

/** Finds and describes accounts in auth's database. */
export const authReadings = (queries: Queries) =>
  accountReadings(queries, ACCOUNT_TABLES, finder, {}, { "newest sign-ups": newestSignUps(queries) });
