import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger } from "@countersign/runtime";
import { afterAll, describe, expect, it } from "vitest";
import { makeDatabase } from "../testing/mmdb.ts";
import { openLocator } from "./locate.ts";

const logger = createLogger({ name: "test", level: "silent" });
const directory = mkdtempSync(join(tmpdir(), "countersign-location-"));
afterAll(() => rmSync(directory, { recursive: true }));

const file = join(directory, "places.mmdb");
writeFileSync(
  file,
  makeDatabase({
    "203.0.113.0/24": { city: { names: { en: "Bern", de: "Bern" } }, country: { names: { en: "Switzerland" } } },
    "198.51.100.0/25": { country: { names: { en: "Iceland" } } },
    "192.0.2.7/32": { location: { accuracy_radius: 10 } },
  }),
);

describe("the place of an address", () => {
  it.each([
    ["203.0.113.9", "Bern, Switzerland"],
    ["198.51.100.1", "Iceland"],
    ["198.51.100.200", ""],
    ["192.0.2.7", ""],
    ["127.0.0.1", ""],
    ["2001:db8::1", ""],
    ["not an address", ""],
    ["", ""],
  ])("%s is %j", async (ip, place) => {
    expect((await openLocator(file, logger))(ip)).toBe(place);
  });

  it("is nowhere without a database", async () => {
    expect((await openLocator(undefined, logger))("203.0.113.9")).toBe("");
  });

  it("stops the start where the file is none", async () => {
    await expect(openLocator(join(directory, "none"), logger)).rejects.toThrow("ENOENT");
    const other = join(directory, "other");
    writeFileSync(other, "no database");
    await expect(openLocator(other, logger)).rejects.toThrow("no database of locations");
  });
});
