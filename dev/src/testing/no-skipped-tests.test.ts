import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

// Below node_modules, so that its tests find vitest and this run does not find them.
const dir = mkdtempSync(join(root, "node_modules/no-skipped-tests-"));
beforeAll(() => {
  writeFileSync(join(dir, "vitest.config.mjs"), 'export default { test: { include: ["*.mjs"], exclude: [] } };');
  const imports = 'import { describe, it } from "vitest";\n';
  writeFileSync(join(dir, "whole.mjs"), `${imports}it("runs", () => {});`);
  // Skipped tests are the subject; put together, so that no tool takes this text for a skipped test of ours.
  const skip = "skip";
  writeFileSync(join(dir, "skipping.mjs"), `${imports}it("runs", () => {}); it.${skip}("one", () => {});`);
  writeFileSync(
    join(dir, "group.mjs"),
    `${imports}describe.${skip}If(true)("a group", () => { it("one", () => {}); });`,
  );
});
afterAll(() => rmSync(dir, { recursive: true }));

const run = (...args: string[]) => {
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const reporter = join(import.meta.dirname, "no-skipped-tests.ts");
  const env = { ...process.env, VITEST: undefined, VITEST_WORKER_ID: undefined, VITEST_POOL_ID: undefined };
  return spawnSync(process.execPath, [vitest, "run", "--root", dir, `--reporter=${reporter}`, ...args], {
    encoding: "utf8",
    env,
  });
};

describe("a run in CI", { timeout: 60_000 }, () => {
  it("passes when every test ran", () => {
    expect(run("whole")).toMatchObject({ status: 0, stderr: "" });
  });

  it.each([
    ["skipping", "skipping.mjs > one"],
    ["group", "group.mjs > a group > one"],
  ])("fails and names the test that was skipped: %s", (file, name) => {
    expect(run(file)).toMatchObject({ status: 1, stderr: expect.stringContaining(name) });
  });

  it("lets tests be selected by name", () => {
    expect(run("skipping", "-t", "runs").status).toBe(0);
  });
});
