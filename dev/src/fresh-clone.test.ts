import { readFileSync } from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { dirname, join, resolve } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { expect, it } from "vitest";

const require = createRequire(import.meta.url);
const IMPORT = /^(?:import|export)(?! type\b)(?:[^"';]*? from)? "([^"]+)"/gm;

/**
 * Returns the files of this repository that a module loads before its first line runs. Dynamic imports and
 * imports of types do not count.
 */
function loadedBy(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  // Generated files do not exist in a fresh clone: they are listed, and their imports are not followed.
  if (isGenerated(file)) return seen;
  for (const [, name = ""] of readFileSync(file, "utf8").matchAll(IMPORT)) {
    const ours = name.startsWith(".") || name.startsWith("@countersign/");
    if (isBuiltin(name) || !ours) continue;
    loadedBy(name.startsWith(".") ? resolve(dirname(file), name) : fileOf(name), seen);
  }
  return seen;
}

/** Returns the file behind an export of a workspace package. */
function fileOf(name: string): string {
  if (name.startsWith("@countersign/proto/")) return join(root, "proto/gen", name.slice("@countersign/proto/".length));
  return require.resolve(name);
}

const isGenerated = (file: string) => file.startsWith(join(root, "proto/gen")) || file.includes("/store/generated/");

const dev = ["main", "start", "test", "check", "reset"].map((name) => `dev/src/${name}.ts`);
it.each([...dev, "packages/build/src/generate.ts", "packages/local-stack/src/stack.ts"])(
  "%s starts before anything is generated",
  (path) => {
    const loaded = loadedBy(join(root, path));
    expect(loaded.size).toBeGreaterThan(0);
    expect([...loaded].filter(isGenerated)).toEqual([]);
  },
);

it("would find a module that needs generated code", () => {
  expect([...loadedBy(join(root, "packages/events/src/index.ts"))].some(isGenerated)).toBe(true);
});
