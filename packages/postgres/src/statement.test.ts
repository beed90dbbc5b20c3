import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { sql, sqlFile } from "./statement.ts";

const directory = mkdtempSync(join(tmpdir(), "countersign-sql-"));
afterAll(() => rmSync(directory, { recursive: true }));

it("sql makes parameters of values, and gives a template one name", () => {
  const find = (id: string) => sql`SELECT 1 WHERE ${id} = ${2}`;
  expect(find("a")).toMatchObject({ text: "SELECT 1 WHERE $1 = $2", values: ["a", 2] });
  expect(find("b").name).toBe(find("a").name);
  expect(sql`SELECT 1`.name).not.toBe(find("a").name);
});

it("sql refuses undefined, which Postgres would take for null", () => {
  expect(() => sql`SELECT ${undefined}`).toThrow("a value is missing in: SELECT $1");
  expect(sql`SELECT ${null}`.values).toEqual([null]);
});

describe("sqlFile", () => {
  const statementOf = (text: string) => {
    const file = join(directory, "statement.sql");
    writeFileSync(file, text);
    return sqlFile(pathToFileURL(file));
  };

  it("numbers parameters by their first use, and leaves casts alone", () => {
    const statement = statementOf("SELECT :b::text, :a::uuid, :b");
    expect(statement({ a: 1, b: null })).toMatchObject({ text: "SELECT $1::text, $2::uuid, $1", values: [null, 1] });
  });

  it("refuses a parameter without a value", () => {
    expect(() => statementOf("SELECT :a")({ b: 1 })).toThrow("parameter a has no value");
  });
});
