import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findChromium } from "@countersign/local-stack/chromium.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runsEndToEnd } from "./test.ts";

const dir = mkdtempSync(join(tmpdir(), "chromium-"));
const browser = join(dir, "google-chrome");
beforeAll(() => {
  writeFileSync(browser, "#!/bin/sh\n");
  writeFileSync(join(dir, "chromium"), "not a program");
  chmodSync(browser, 0o755);
});
afterAll(() => rmSync(dir, { recursive: true }));

describe("Chromium", () => {
  it("is found on PATH by one of its names, where it can be run", () => {
    expect(findChromium({ PATH: `/nowhere::${dir}` })).toBe(browser);
    expect(findChromium({ PATH: "/nowhere" })).toBeUndefined();
    expect(findChromium({})).toBeUndefined();
  });

  it("is the one that the variable names, or the variable is wrong", () => {
    expect(findChromium({ CS_CHROMIUM: browser, PATH: "/nowhere" })).toBe(browser);
    expect(() => findChromium({ CS_CHROMIUM: join(dir, "chromium"), PATH: dir })).toThrow("CS_CHROMIUM");
  });

  it.each<[string[], boolean]>([
    [[], true],
    [["--reporter=default"], true],
    [["--project", "e2e"], true],
    [["--project=e2e", "tests/e2e"], true],
    [["--project", "unit"], false],
    [["--project=unit", "--project", "service"], false],
    [["--project", "unit", "--project", "e2e"], true],
    [["--project", "*"], true],
  ])("is needed for %j: %s", (args, needed) => {
    expect(runsEndToEnd(args)).toBe(needed);
  });
});
