import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ConfigError } from "./config.ts";
import type { ReadFile } from "./files.ts";
import { createMetrics } from "./metrics.ts";
import { memoryLogger } from "./testing/memory-logger.ts";
import { watchFiles } from "./watched-files.ts";

const LOOK_MS = 1_000;
let directory: string;
let metrics: ReturnType<typeof createMetrics>;
let log: ReturnType<typeof memoryLogger>;
let files: ReturnType<typeof watchFiles>;

beforeEach(() => {
  vi.useFakeTimers();
  directory = mkdtempSync(join(tmpdir(), "countersign-watched-"));
  metrics = createMetrics("test", { defaults: false });
  log = memoryLogger();
  files = watchFiles({ logger: log.logger, metrics });
});
afterEach(async () => {
  const closed = files.close();
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  await closed;
  vi.useRealTimers();
  rmSync(directory, { recursive: true });
});

const path = (name: string) => join(directory, name);
const write = (name: string, content: string) => writeFileSync(path(name), content);
const looks = (count: number) => vi.advanceTimersByTimeAsync(count * LOOK_MS);
/** A number in decimal; anything else is refused. */
const numberIn = (name: string) => (read: ReadFile) => {
  const text = read(path(name)).toString();
  if (!/^\d+$/.test(text)) throw new ConfigError([`${name} is no number`]);
  return Number(text);
};
const sample = async (name: string) => {
  const line = (await metrics.registry.metrics()).split("\n").find((each) => each.startsWith(`${name}{`));
  return Number(line?.split(" ").at(-1));
};

test("a changed content takes effect once, and listeners get it after it is in effect", async () => {
  write("limit", "1");
  const limit = files.watch("limit", numberIn("limit"));
  const seen: number[][] = [];
  limit.onChange((value) => seen.push([value, limit.current()]));
  await looks(2);
  write("limit", "2");
  expect(limit.current()).toBe(1);
  await looks(3);
  expect([limit.current(), seen]).toEqual([2, [[2, 2]]]);
  expect(await sample("countersign_file_changes_total")).toBe(1);
});

test("a content that is not valid changes nothing, and is reported once, until a valid one comes", async () => {
  write("limit", "1");
  const limit = files.watch("limit", numberIn("limit"));
  write("limit", "s3cret");
  await looks(5);
  expect([limit.current(), await sample("countersign_file_refused")]).toEqual([1, 1]);
  expect(log.lines().filter(({ event }) => event === "file-refused")).toHaveLength(1);
  expect(log.text()).not.toContain("s3cret");
  write("limit", "1");
  await looks(1);
  expect(await sample("countersign_file_refused")).toBe(0);
  rmSync(path("limit"));
  await looks(3);
  expect([limit.current(), await sample("countersign_file_refused")]).toEqual([1, 1]);
  write("limit", "3");
  await looks(1);
  expect([limit.current(), await sample("countersign_file_refused")]).toEqual([3, 0]);
});

test("files between two versions are not reported", async () => {
  write("a", "1");
  write("b", "1");
  const both = files.watch("both", (read) => {
    const [a, b] = [numberIn("a")(read), numberIn("b")(read)];
    if (a !== b) throw new ConfigError(["a is not b"]);
    return a;
  });
  write("a", "2");
  await looks(1);
  expect(both.current()).toBe(1);
  write("b", "2");
  await looks(1);
  expect([both.current(), log.lines().length]).toEqual([2, 1]);
});

test("a link that moves is a change, as Kubernetes mounts files", async () => {
  for (const version of ["1", "2"]) {
    mkdirSync(path(`data-${version}`));
    write(`data-${version}/limit`, version);
  }
  symlinkSync("data-1", path("data"));
  symlinkSync("data/limit", path("limit"));
  const limit = files.watch("limit", numberIn("limit"));
  symlinkSync("data-2", path("next"));
  renameSync(path("next"), path("data"));
  await looks(1);
  expect(limit.current()).toBe(2);
});

test("files that the content names are watched too", async () => {
  write("names", "secret");
  write("secret", "1");
  const named = files.watch("named", (read) => numberIn(read(path("names")).toString())(read));
  write("secret", "2");
  await looks(1);
  expect(named.current()).toBe(2);
  write("names", "later");
  await looks(2);
  expect(named.current()).toBe(2);
  write("later", "3");
  await looks(1);
  expect(named.current()).toBe(3);
});

test("a requirement refuses a change, which is tried again when another file has changed", async () => {
  write("wanted", "1");
  write("most", "1");
  const wanted = files.watch("wanted", numberIn("wanted"));
  const most = files.watch("most", numberIn("most"));
  wanted.require((value) => {
    if (value > most.current()) throw new ConfigError(["too much"]);
  });
  write("wanted", "2");
  await looks(3);
  expect(wanted.current()).toBe(1);
  write("most", "2");
  await looks(2);
  expect(wanted.current()).toBe(2);
  expect(() => wanted.require(() => Promise.reject)).not.toThrow();
  expect(() =>
    wanted.require(() => {
      throw new ConfigError(["never"]);
    }),
  ).toThrow("never");
});

test("a value that takes time replaces the old one when it is ready, and is made again after a failure", async () => {
  write("limit", "1");
  let fails = true;
  const limit = await files.open("limit", async (read) => {
    const value = numberIn("limit")(read);
    if (value > 1 && fails) throw new Error("the key service is away");
    return value;
  });
  write("limit", "2");
  await looks(3);
  expect(limit.current()).toBe(1);
  fails = false;
  await looks(31);
  expect(limit.current()).toBe(2);
});

test("a look is possible at any time, and a listener that throws stops nobody", async () => {
  write("limit", "1");
  const limit = files.watch("limit", numberIn("limit"));
  let calls = 0;
  limit.onChange(() => {
    throw new Error("broken");
  });
  const end = limit.onChange(() => {
    calls += 1;
  });
  write("limit", "2");
  limit.refresh();
  expect([limit.current(), calls]).toEqual([2, 1]);
  end();
  write("limit", "3");
  limit.refresh();
  expect([limit.current(), calls]).toEqual([3, 1]);
  expect(log.text()).toContain("file-not-applied");
  expect(await sample("countersign_file_refused")).toBe(1);
});

test("the first content must be valid", () => {
  write("limit", "none");
  expect(() => files.watch("limit", numberIn("limit"))).toThrow("limit is no number");
});
