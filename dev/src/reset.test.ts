import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { postgresHome } from "@countersign/local-stack/postgres.ts";
import { expect, onTestFinished, test } from "vitest";
import { reset, stateDirsOf } from "./reset.ts";

function makeState(): [stateDir: string, home: string] {
  const stateDir = mkdtempSync(join(tmpdir(), "countersign-reset-"));
  const home = postgresHome(stateDir);
  mkdirSync(home);
  onTestFinished(() => {
    for (const path of [stateDir, home]) rmSync(path, { recursive: true, force: true });
  });
  return [stateDir, home];
}

// reset() itself would delete the state of this checkout.
test("by default the stack on Citus is reset as well, with a folder only that folder", () => {
  expect(stateDirsOf()).toEqual([join(root, ".local"), join(root, ".local/citus")]);
  expect(stateDirsOf("other")).toEqual([resolve("other")]);
});

test("the state is deleted, also its Postgres outside of it", async () => {
  const state = makeState();
  await reset(state[0]);
  expect(state.map((path) => existsSync(path))).toEqual([false, false]);
});

test("nothing is deleted while the stack runs", async () => {
  const state = makeState();
  writeFileSync(join(state[0], "supervisor.pid"), String(process.pid));
  await expect(reset(state[0])).rejects.toThrow(`the stack of ${state[0]} runs (pid ${process.pid}): stop it first.`);
  expect(state.map((path) => existsSync(path))).toEqual([true, true]);
});
