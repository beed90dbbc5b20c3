import { TermKind } from "@countersign/proto/admin/v1/admin.ts";
import { expect, it } from "vitest";
import { termOf } from "./term.ts";

const uuid = "01a1fc59-f059-70b8-9ddc-021b7279cf4f";
const key = "ab".repeat(64);

it.each([
  [uuid, TermKind.TERM_KIND_ID, uuid],
  [` ${uuid.toUpperCase()} `, TermKind.TERM_KIND_ID, uuid],
  ["Ada@Example.com", TermKind.TERM_KIND_EMAIL, "Ada@Example.com"],
  ["E03DAEBED8CA0615", TermKind.TERM_KIND_ADDRESS, "e03daebed8ca0615"],
  ["0xe03daebed8ca0615", TermKind.TERM_KIND_ADDRESS, "e03daebed8ca0615"],
  [`0x${"0".repeat(24)}244df176632ffcc6`, TermKind.TERM_KIND_ADDRESS, `0x${"0".repeat(24)}244df176632ffcc6`],
  [key, TermKind.TERM_KIND_KEY, key],
  [`04${key}`, TermKind.TERM_KIND_KEY, key],
  [`0x${key}`, TermKind.TERM_KIND_KEY, key],
  ["cd".repeat(32), TermKind.TERM_KIND_KEY, "cd".repeat(32)],
  ["https://idp.example Subject-1", TermKind.TERM_KIND_IDENTITY, "https://idp.example Subject-1"],
])("%s is of kind %s", (given, kind, term) => {
  expect(termOf(given)).toEqual({ kind, term });
});

it.each(["", "ada", "12345", "0x12", "'; DROP TABLE identity", "https://idp.example"])("%j is no term", (given) => {
  expect(termOf(given)).toBeUndefined();
});
