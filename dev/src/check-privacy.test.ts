import { root } from "@countersign/build/paths.ts";
import { expect, test } from "vitest";
import { checkPrivacy, inventoryOf, tablesOf } from "./check-privacy.ts";

const SCHEMA = `
/// A person.
model Identity {
  /// Of the provider.
  subject   String   @id
  accountId String   @map("account_id") @db.Uuid
  sessions  Session[]

  @@map("identity")
}

model Session {
  id       String   @id
  identity Identity @relation(fields: [id], references: [subject])

  @@map("session")
}
`;

test("tables have their columns, by their names in the database and without relations", () => {
  expect([...tablesOf(SCHEMA)]).toEqual([
    ["identity", ["subject", "account_id"]],
    ["session", ["id"]],
  ]);
});

test("the page's table and its lists of names are read", () => {
  const { personal, names } = inventoryOf(
    "| auth | `identity`, `session` | `subject` | login |\n\n## Names of columns\nPseudonyms: `account_id`.",
  );
  expect([...personal]).toEqual(["auth.identity.subject", "auth.session.subject"]);
  expect([...names]).toEqual(["account_id"]);
});

test("every column of this repository is in the inventory", () => {
  expect(checkPrivacy(root)).toEqual([]);
});
