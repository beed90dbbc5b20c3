import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { services } from "@countersign/build/paths.ts";
import { afterAll, describe, expect, it } from "vitest";
import { databaseUrl, servicesToMigrate } from "./database-url.ts";

const directory = mkdtempSync(join(tmpdir(), "countersign-migrations-"));
const file = join(directory, "url");
writeFileSync(file, "postgresql://owner@db/auth\n");
afterAll(() => rmSync(directory, { recursive: true }));

describe("the connection string for migrations", () => {
  it("is the variable's, or that of the file that it names", () => {
    expect(databaseUrl("auth", { AUTH_DATABASE_URL: "postgresql://db/a" })).toBe("postgresql://db/a");
    expect(databaseUrl("auth", { AUTH_DATABASE_URL_FILE: file })).toBe("postgresql://owner@db/auth");
    expect(databaseUrl("auth", { AUTH_DATABASE_URL: "" })).toBeUndefined();
  });

  it("is refused where it is given twice, or its file is missing", () => {
    const both = { AUTH_DATABASE_URL: "x", AUTH_DATABASE_URL_FILE: file };
    expect(() => databaseUrl("auth", both)).toThrow("AUTH_DATABASE_URL and AUTH_DATABASE_URL_FILE are both set");
    const missing = { AUTH_DATABASE_URL_FILE: join(directory, "none") };
    expect(() => databaseUrl("auth", missing)).toThrow("AUTH_DATABASE_URL_FILE=");
  });

  it("is refused where the file is empty: pg would migrate the database of this machine", () => {
    const empty = join(directory, "empty");
    writeFileSync(empty, "\n");
    expect(() => databaseUrl("auth", { AUTH_DATABASE_URL_FILE: empty })).toThrow("AUTH_DATABASE_URL_FILE=");
  });
});

describe("the services to migrate", () => {
  const env = { KEY_DATABASE_URL: "k", AUTH_DATABASE_URL: "a" };

  it("are all that have a connection string, or the named ones", () => {
    expect(servicesToMigrate(services, [], env)).toEqual([
      { service: "auth", url: "a" },
      { service: "key", url: "k" },
    ]);
    expect(servicesToMigrate(services, ["key"], env)).toEqual([{ service: "key", url: "k" }]);
  });

  it("are refused where one is unknown or has no connection string", () => {
    expect(() => servicesToMigrate(services, ["nobody"], env)).toThrow("no such service: nobody");
    expect(() => servicesToMigrate(services, ["signer"], env)).toThrow("set SIGNER_DATABASE_URL,");
    expect(() => servicesToMigrate(services, [], {})).toThrow("set AUTH_DATABASE_URL, DEVICE_DATABASE_URL");
  });
});
