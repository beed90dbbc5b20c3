import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { expect, test } from "vitest";
import { checkMains } from "./check-mains.ts";

test("a main of more than 120 lines is found", () => {
  const directory = mkdtempSync(join(tmpdir(), "countersign-mains-"));
  try {
    execFileSync("git", ["init", "--quiet"], { cwd: directory });
    const lines = {
      "services/auth/src/main.ts": 120,
      "services/key/src/main.ts": 121,
      "services/key/src/rpc/a.ts": 200,
    };
    for (const [path, count] of Object.entries(lines)) {
      mkdirSync(dirname(join(directory, path)), { recursive: true });
      writeFileSync(join(directory, path), "//\n".repeat(count));
    }
    expect(checkMains(directory)).toEqual([expect.stringContaining("services/key/src/main.ts: 121 lines")]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("no main of this repository is too long", () => {
  expect(checkMains(root)).toEqual([]);
});
