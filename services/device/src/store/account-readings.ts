import { type AccountTable, accountReadings, type Term } from "@countersign/admin-actions";
import { deleteInBatches, deletionOf, type Postgres, type Queries, sql } from "@countersign/postgres";

/** Tables with rows about accounts, as administrators see them; docs/privacy.md says why each is kept. */
const ACCOUNT_TABLES: readonly AccountTable[] = [
  { name: "device", newest: "created_at", without: ["push_token"] },
  { name: "two_factor", newest: "requested_at", without: ["message"] },
  { name: "two_factor_reopening", newest: "reopened_at" },
  { name: "delivery", newest: "created_at" },
  { name: "webhook_delivery", newest: "created_at" },
  { name: "webhook_queue", newest: "due_at", isNotExported: true },
  { name: "account_lock", newest: "account_id", isNotExported: true },
  { name: "admin_action", newest: "id", isNotExported: true },
];

function finder(term: Term) {
  if (term.kind !== "id") return undefined;
  return sql`
    SELECT account_id FROM device WHERE id = ${term.text}::uuid
    UNION SELECT account_id FROM device WHERE account_id = ${term.text}::uuid
    UNION SELECT account_id FROM two_factor WHERE id = ${term.text}::uuid
    UNION SELECT account_id FROM two_factor WHERE id IN (
      SELECT two_factor_id FROM two_factor_message WHERE message_id = ${term.text}::uuid) LIMIT 20`;
}

/** Finds and describes accounts in device's database. */
export const deviceReadings = (queries: Queries) => accountReadings(queries, ACCOUNT_TABLES, finder);

/**
 * Deletes what device has about a person, in batches where an account may have very many rows. Messages of
 * requests go with them.
 */
export const erasePerson =
  (postgres: Postgres) =>
  async (accountId: string): Promise<void> => {
    const deletion = deletionOf.bind(undefined, postgres);
    const batches = [
      deletion("two_factor", sql`account_id = ${accountId}::uuid ORDER BY account_id`),
      deletion("delivery", sql`account_id = ${accountId}::uuid ORDER BY account_id`),
      deletion(
        "webhook_delivery",
        sql`account_id = ${accountId}::uuid AND type <> 'account.erased' ORDER BY account_id`,
      ),
    ];
    for (let isMore = true; isMore; ) isMore = await deleteInBatches(batches);
    // Also rows that another transaction had locked.
    await postgres.transaction(async (tx) => {
      await tx.execute(sql`DELETE FROM device WHERE account_id = ${accountId}::uuid`);
      await tx.execute(sql`DELETE FROM two_factor WHERE account_id = ${accountId}::uuid`);
      await tx.execute(sql`DELETE FROM two_factor_reopening WHERE account_id = ${accountId}::uuid`);
      await tx.execute(sql`DELETE FROM delivery WHERE account_id = ${accountId}::uuid`);
      // Backends learn of the erasure itself; that message has the account's id and nothing else.
      await tx.execute(sql`
        DELETE FROM webhook_delivery WHERE account_id = ${accountId}::uuid AND type <> 'account.erased'`);
    });
  };
