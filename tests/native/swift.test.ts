import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { blocksOf } from "../docs/blocks.ts";
import { buildClients, run, startLogins } from "./tools.ts";

const swift = process.env.CS_TEST_SWIFT;

const [program] = blocksOf("native").filter(({ language }) => language === "swift");

let logins: Awaited<ReturnType<typeof startLogins>>;
beforeAll(async () => {
  logins = await startLogins();
  await buildClients();
  // Compiled with the tests: the program of docs/native.md.
  const folder = join(root, "clients/swift/Tests/CountersignTests/generated");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "NativePage.swift"), program?.text ?? "");
});

afterAll(() => logins.close());

it("Swift: the client agrees with the vectors, and its tests pass against the stack", async () => {
  if (swift === undefined) throw new Error("CS_TEST_SWIFT is missing: run the tests by npm run test:native");
  const { text, code } = await run(swift, ["test", "--package-path", join(root, "clients/swift")], logins.env);
  expect(code, text).toBe(0);
  expect(text).toMatch(/Executed [1-9]\d* tests, with 0 failures/);
  for (const suite of ["VectorsTests", "StackTests"]) expect(text).toContain(`Test Suite '${suite}' passed`);
});
