import { type AccountTable, accountReadings, type Term } from "@countersign/admin-actions";
import { type Postgres, type Queries, sql } from "@countersign/postgres";

/** Tables with rows about accounts, as administrators see them; docs/privacy.md says why each is kept. */
const ACCOUNT_TABLES: readonly AccountTable[] = [
  { name: "account", column: "id", newest: "created_at" },
  { name: "address", newest: "chain_name" },
  { name: "deployment", newest: "queued_at", without: ["traceparent"] },
  { name: "parent", newest: "address" },
  { name: "key_addition", newest: "created_at", without: ["transaction"] },
  { name: "server_key_rotation", newest: "created_at", without: ["transaction"] },
  { name: "chain_alert", newest: "raised_at" },
  { name: "admin_action", newest: "id", isNotExported: true },
];

const finderOf = (chains: { keys(): Iterable<string> }) => (term: Term) => {
  if (term.kind === "id")
    return sql`
      SELECT id AS account_id FROM account WHERE id = ${term.text}::uuid
      UNION SELECT account_id FROM chain_alert WHERE id = ${term.text}::uuid
      UNION SELECT account_id FROM key_addition WHERE attempt_id = ${term.text}::uuid LIMIT 20`;
  if (term.kind !== "address") return undefined;
  return sql`SELECT account_id FROM address WHERE chain_name = ANY(${[...chains.keys()]}) AND address = ${term.text} LIMIT 20`;
};

/** Finds and describes accounts in account's database. */
export const accountsReadings = (queries: Queries, chains: { keys(): Iterable<string> }) =>
  accountReadings(queries, ACCOUNT_TABLES, finderOf(chains));

/** Deletes what account has about a person. Addresses and keys are on chain, where nobody deletes them. */
export const erasePerson =
  (postgres: Postgres) =>
  (accountId: string): Promise<void> =>
    postgres.transaction(async (tx) => {
      await tx.execute(sql`UPDATE account SET profile_image_url = '' WHERE id = ${accountId}::uuid`);
      await tx.execute(sql`DELETE FROM parent WHERE account_id = ${accountId}::uuid`);
    });
