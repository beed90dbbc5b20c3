import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { postgresDir, root } from "@countersign/build/paths.ts";
import { expect, onTestFinished, test } from "vitest";
import { reset, stateDirsOf } from "./reset.ts";

function makeState(): [stateDir: string, home: string] {
  const stateDir = mkdtempSync(join(tmpdir(), "countersign-reset-"));
  const home = postgresDir(stateDir);
  mkdirSync(home);
  onTestFinished(() => {
    for (const path of [stateDir, home]) rmSync(path, { recursive: true, force: true });
  });
  return [stateDir, home];
}

// reset() itself would delete the state of this checkout.
test("the stack on Citus is reset as well", () => {
  expect(stateDirsOf()).toEqual([join(root, ".local"), join(root, ".local/citus")]);
  expect(stateDirsOf("other")).toEqual([resolve("other"), resolve("other/citus")]);
});

test("the state is deleted, also its Postgres outside of it", async () => {
  const state = makeState();
  await reset(state[0]);
  expect(state.map((path) => existsSync(path))).toEqual([false, false]);
});

test.each(["", "citus"])("nothing is deleted while a stack runs: %s", async (folder) => {
  const state = makeState();
  const stateDir = join(state[0], folder);
  mkdirSync(stateDir, { recursive: true });
  writeFileSync(join(stateDir, "supervisor.pid"), String(process.pid));
  await expect(reset(state[0])).rejects.toThrow(`the stack of ${stateDir} runs (pid ${process.pid}): stop it first.`);
  expect(state.map((path) => existsSync(path))).toEqual([true, true]);
});
