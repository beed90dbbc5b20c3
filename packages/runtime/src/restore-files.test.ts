import { mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { jsonLines, readJsonLines, writeJsonLines } from "./restore-files.ts";

/** The most characters of a string are fewer. */
const LONGER_THAN_A_STRING = 2 ** 29;

let directory: string;
let path: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "countersign-restore-files-"));
  path = join(directory, "events.jsonl");
});
afterAll(() => rmSync(directory, { recursive: true }));

it("a file has what was written to it, for the owner only", async () => {
  // Each one is longer than what is read at once, and its characters have two bytes.
  const values = ["a", "b", "c"].map((text) => text + "ä\u2028\r".repeat(500_000));
  expect(await writeJsonLines(path, values)).toBe(3);
  expect(readJsonLines(path, z.string())).toEqual(values);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  await writeJsonLines(path, []);
  expect(readJsonLines(path, z.string())).toEqual([]);
});

it("a file that is longer than a string is read", () => {
  writeFileSync(path, '"first"\nsecond\n');
  // The rest takes no place on the disk.
  truncateSync(path, LONGER_THAN_A_STRING);
  expect(() => readJsonLines(path, z.string())).toThrow("line 2 is not as expected");
});

it("each value is written before the next one comes, and read when it is asked for", async () => {
  async function* values() {
    yield "first";
    yield statSync(`${path}.part`).size;
  }
  await writeJsonLines(path, values());
  expect(readJsonLines(path, z.unknown())).toEqual(["first", '"first"\n'.length]);
  expect(jsonLines(path, z.string()).next()).toEqual({ done: false, value: "first" });
});

it("a file stays as it is where the values end with an error", async () => {
  await writeJsonLines(path, ["before"]);
  async function* values() {
    yield "first";
    throw new Error("NATS is away");
  }
  await expect(writeJsonLines(path, values())).rejects.toThrow("NATS is away");
  expect(readJsonLines(path, z.string())).toEqual(["before"]);
});

it.each([
  ["a line", '"first"\n"sec'],
  ["a character", Buffer.concat([Buffer.from('"first"\n'), Buffer.from("ä").subarray(0, 1)])],
])("a file that ends within %s is refused", (_within, content) => {
  writeFileSync(path, content);
  expect(() => readJsonLines(path, z.string())).toThrow("is cut off");
});
