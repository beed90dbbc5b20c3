import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root, services } from "./paths.ts";
import { readCompilerFromFile } from "./query-compiler.ts";

describe("the query compiler of a generated client", () => {
  it("is read from its file, in every service", () => {
    for (const service of services) {
      const client = readFileSync(join(root, "services", service, "src/store/generated/internal/class.ts"), "utf8");
      expect(client).toContain('.wasm-base64.js")');
      expect(client).not.toMatch(/import\([^)]*wasm-base64/);
    }
  });

  it("is not read in a client of unknown form", () => {
    expect(() => readCompilerFromFile("export const wasm = undefined")).toThrow("an unknown way");
  });
});
