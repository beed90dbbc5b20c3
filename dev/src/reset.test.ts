import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { postgresDir, root } from "@countersign/build/paths.ts";
import { expect, onTestFinished, test } from "vitest";
import { reset, stateDirsOf } from "./reset.ts";
import { checkStateDir, makeStateDir, OTHER_FILES } from "./state-dir.ts";

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

test.each([reset, checkStateDir])("a folder with other files is no state directory: %o", async (use) => {
  const folder = mkdtempSync(join(tmpdir(), "countersign-reset-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "log"));
  writeFileSync(join(folder, "package.json"), "{}");
  const call = async (stateDir: string) => use(stateDir);
  const message = (stateDir: string) => `--state-dir ${stateDir}: ${OTHER_FILES}`;
  await expect(call(folder)).rejects.toThrow(message(folder));
  expect(existsSync(join(folder, "package.json"))).toBe(true);
  const file = join(folder, "package.json");
  await expect(call(file)).rejects.toThrow(`--state-dir ${file}: is no folder`);
});

test("a folder is one that is not there, is empty, or has the state of a stack that started or failed to", () => {
  const [stateDir] = makeState();
  checkStateDir(stateDir);
  checkStateDir(join(stateDir, "new"));
  mkdirSync(join(stateDir, "log"));
  writeFileSync(join(stateDir, "supervisor.pid"), "1");
  checkStateDir(stateDir);
  mkdirSync(join(stateDir, "keys"));
  writeFileSync(join(stateDir, "keys", "auth-token-key-encryption.key"), "");
  checkStateDir(stateDir);
});

test.each(["", "citus"])("nothing is deleted while a stack runs: %s", async (folder) => {
  const state = makeState();
  const stateDir = join(state[0], folder);
  mkdirSync(stateDir, { recursive: true });
  writeFileSync(join(stateDir, "supervisor.pid"), String(process.pid));
  await expect(reset(state[0])).rejects.toThrow(`the stack of ${stateDir} runs (pid ${process.pid}): stop it first.`);
  expect(state.map((path) => existsSync(path))).toEqual([true, true]);
});

test.each(["/proc/x", "/dev/null/x/y"])("a state folder %s that the system refuses is named, at once", (stateDir) => {
  expect(() => makeStateDir(stateDir)).toThrow(`--state-dir ${stateDir} cannot be made: E`);
});
