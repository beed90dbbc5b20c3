import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { ensureTools } from "./tools.ts";

const emptyCache = mkdtempSync(join(tmpdir(), "countersign-cache-"));
afterAll(() => rmSync(emptyCache, { recursive: true }));
afterEach(() => vi.unstubAllEnvs());

describe("requirements for building the tools", () => {
  const goRoot = spawnSync("go", ["env", "GOROOT"], { encoding: "utf8" }).stdout?.trim();

  it.each([
    ["Go", { PATH: "/nowhere" }, "Either install Go 1.26 or newer"],
    ["a C compiler", { PATH: join(goRoot ?? "", "bin"), CC: "/nowhere/cc" }, "a C compiler is missing"],
  ])("%s is named where it is missing", async (_, environment, message) => {
    const all = { XDG_CACHE_HOME: emptyCache, CS_FLOW_EMULATOR: "", CS_NATS_SERVER: "", ...environment };
    for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value);
    await expect(ensureTools(() => undefined)).rejects.toThrow(message);
  });
});
