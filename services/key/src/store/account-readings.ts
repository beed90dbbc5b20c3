import { type AccountTable, accountReadings, type Term } from "@countersign/admin-actions";
import { type Queries, sql } from "@countersign/postgres";

/** Tables with rows about accounts, as administrators see them; docs/privacy.md says why each is kept. */
const ACCOUNT_TABLES: readonly AccountTable[] = [
  { name: "registration", newest: "created_at" },
  { name: "left_account", newest: "left_at" },
  { name: "account_lock", newest: "account_id", isNotExported: true },
  { name: "admin_action", newest: "id", isNotExported: true },
];

function finder(term: Term) {
  if (term.kind === "id")
    return sql`
      SELECT account_id FROM registration WHERE id = ${term.text}::uuid
      UNION SELECT account_id FROM registration WHERE account_id = ${term.text}::uuid LIMIT 20`;
  if (term.kind !== "key") return undefined;
  return sql`
    SELECT account_id FROM registration WHERE account_key = ${term.text}
    UNION SELECT account_id FROM registration WHERE device_key = ${term.text} LIMIT 20`;
}

/** Finds and describes accounts in key's database. */
export const keyReadings = (queries: Queries) => accountReadings(queries, ACCOUNT_TABLES, finder);

/** Deletes what key has about a person. The keys are on chain, where nobody deletes them. */
export const erasePerson =
  (queries: Queries) =>
  async (accountId: string): Promise<void> => {
    await queries.execute(sql`
      UPDATE registration SET name = '', cloud_account_name = '' WHERE account_id = ${accountId}::uuid`);
  };
