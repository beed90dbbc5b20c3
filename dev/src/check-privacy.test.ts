import { root } from "@countersign/build/paths.ts";
import { expect, it } from "vitest";
import { checkPrivacy, compareInventory } from "./check-privacy.ts";

const schema = `
model Person {
  /// An id.
  id    String @id @db.Uuid
  fullName String @map("full_name")
  pets  Pet[]

  @@map("person")
}

model Pet {
  id    String @id
  owner Person @relation(fields: [ownerId], references: [id])
  ownerId String @map("owner_id")

  @@map("pet")
}
`;
const page = (...rows: string[]) =>
  ["### zoo", "| table | directly | otherwise | purpose | kept | at erasure |", ...rows, "### other", ""].join("\n");
const person = "| `person` | `full_name` | `id` | greeting | a day | deleted |";
const pet = "| `pet` | | `id`, `owner_id` | feeding | a day | deleted |";

it("accepts an inventory with every column of every table", () => {
  expect(compareInventory("zoo", schema, page(person, pet))).toEqual([]);
});

it.each<[string, string[], string]>([
  ["a table", [person], "zoo has no complete row for the table pet"],
  ["a column", [person, pet.replace(", `owner_id`", "")], "zoo.pet does not list owner_id"],
  ["a purpose", [person, pet.replace("feeding", "")], "zoo has no complete row for the table pet"],
  ["an end", [person, pet.replace("a day", "")], "zoo has no complete row for the table pet"],
])("refuses one without %s", (_, rows, problem) => {
  expect(compareInventory("zoo", schema, page(...rows))).toEqual([`docs/privacy.md: ${problem}`]);
});

it("refuses a column that is gone", () => {
  const rows = [person.replace("`id`", "`id`, `shoe_size`"), pet];
  expect(compareInventory("zoo", schema, page(...rows))).toEqual([
    "docs/privacy.md: zoo.person has no column shoe_size",
  ]);
});

it("the inventory of the services is complete", () => {
  expect(checkPrivacy(root)).toEqual([]);
});
