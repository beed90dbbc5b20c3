import { Failure } from "@countersign/build/fail.ts";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ensureTestPrograms } from "./test-programs.ts";

afterEach(() => vi.unstubAllEnvs());

describe("a program that some tests run, missing and not to be installed", () => {
  it("fails a run in CI with a line that says what to install", async () => {
    vi.stubEnv("PATH", "/nowhere");
    const started = ensureTestPrograms(() => undefined, true);
    await expect(started).rejects.toThrow(Failure);
    await expect(started).rejects.toThrow(/^SoftHSM is missing for the tests of PKCS #11: install softhsm2\./);
  });

  it("is named on a developer's machine, one line each", async () => {
    vi.stubEnv("PATH", "/nowhere");
    const lines: string[] = [];
    await ensureTestPrograms((line) => lines.push(line), false);
    expect(lines.map((line) => line.split(" is missing")[0])).toEqual(["SoftHSM", "Python 3.10"]);
  });
});
