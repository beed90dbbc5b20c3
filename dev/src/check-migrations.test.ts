import { root } from "@countersign/build/paths.ts";
import { expect, it } from "vitest";
import { checkMigrations, findLongLocks } from "./check-migrations.ts";

const find = (text: string) => findLongLocks(root, ["migration.sql"], text);

it.each([
  ['CREATE INDEX "a" ON "session" ("account_id");', "require-concurrent-index-creation"],
  ['ALTER TABLE "session" ADD COLUMN "a" TEXT NOT NULL;', "adding-required-field"],
  ['ALTER TABLE "session" ALTER COLUMN "a" TYPE BIGINT;', "changing-column-type"],
  ['ALTER TABLE "session" DROP COLUMN "a";', "ban-drop-column"],
  ['ALTER TABLE "session" RENAME COLUMN "a" TO "b";', "renaming-column"],
  ['ALTER TABLE "session" ADD CONSTRAINT "a" CHECK ("b" > 0);', "constraint-missing-not-valid"],
])("%s is refused", (text, rule) => {
  expect(find(text).join("\n")).toContain(rule);
});

it.each([
  'CREATE INDEX CONCURRENTLY "a" ON "session" ("account_id");',
  `ALTER TABLE "session" ADD COLUMN "a" TEXT NOT NULL DEFAULT '';`,
  'CREATE TABLE "a" ("id" UUID PRIMARY KEY, "count" INTEGER NOT NULL);',
])("%s is accepted", (text) => {
  expect(find(text)).toEqual([]);
});

it("the new migrations lock no table for long", () => {
  expect(checkMigrations(root)).toEqual([]);
});
