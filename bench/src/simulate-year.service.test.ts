import { services } from "@countersign/build/paths.ts";
import { createTestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { expect, it } from "vitest";
import { simulateYear, type Urls } from "./simulate-year.ts";

it("a year of traffic leaves tables and periodic jobs as small as a quarter does", { timeout: 300_000 }, async () => {
  const databases = await Promise.all(services.map((name) => createTestDatabase(name)));
  const urls = Object.fromEntries(services.map((name, i) => [name, databases[i]!.url])) as Urls;
  const { problems, tables } = await simulateYear(urls, 1_000, 1, () => undefined);
  for (const database of databases) await database.drop();
  expect(problems).toEqual([]);
  const rows = (table: string) => tables.find((each) => each.table === table)?.late;
  expect(rows("signer.audit_tree")).toBeLessThan(5);
  // One row for each of the two devices that an account had, of which some still have sessions only.
  expect(rows("auth.former_session")).toBeGreaterThan(1_000);
  expect(rows("auth.former_session")).toBeLessThanOrEqual(2_000);
});
