import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { describe, expect, it } from "vitest";
import { fileOf } from "./serve.ts";

describe("files of the page", () => {
  it.each(["/index.html", "/wallet.ts", "/packages/client/src/index.ts", "/node_modules/@noble/hashes/sha2.js"])(
    "serves %s",
    (path) => expect(fileOf(path)).toContain(path.split("/").at(-1)),
  );

  it.each([
    "/../../package.json",
    "/../../dev/src/main.ts",
    "/packages/client/src/../../../dev/src/main.ts",
    "/packages/client/package.json",
    "/packages/core/src/index.ts",
    "/node_modules/express/index.js",
    "/.local/keys/signer-keystore.json",
    "/nothing.ts",
    "/",
  ])("does not serve %s", (path) => expect(fileOf(path)).toBeUndefined());

  it("serves every module that the page imports, by its import map", () => {
    const page = readFileSync(fileOf("/index.html") ?? "", "utf8");
    const map = /<script type="importmap">(.*?)<\/script>/s.exec(page)?.[1] ?? "";
    const imports: [string, string][] = Object.entries(JSON.parse(map).imports);
    const resolve = (name: string, from: string) => {
      if (name.startsWith(".")) return new URL(name, `http://localhost${from}`).pathname;
      const found = imports.find(([key]) => (key.endsWith("/") ? name.startsWith(key) : name === key));
      return found === undefined ? undefined : found[1] + name.slice(found[0].length);
    };
    const seen = new Set<string>();
    const visit = (path: string) => {
      if (seen.has(path)) return;
      seen.add(path);
      const file = fileOf(path);
      expect(file, path).toBeDefined();
      const text = readFileSync(file ?? "", "utf8");
      const code = path.endsWith(".ts") ? stripTypeScriptTypes(text) : text;
      for (const [, name] of code.matchAll(/^(?:(?:import|export|\}).* from |import )["']([^"']+)["'];/gm)) {
        const target = resolve(name!, path);
        expect(target, `${name} in ${path}`).toBeDefined();
        visit(target!);
      }
    };
    visit("/wallet.ts");
    expect([...seen]).toContain("/node_modules/eventsource-parser/dist/parse.js");
  });
});
