import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/**
 * How a generated client of Prisma 7 loads its query compiler: from a module that exports 4.6 MB of base64.
 */
const IMPORT = /const \{ wasm \} = await import\("(?<module>@prisma\/client\/runtime\/[\w.-]+\.wasm-base64)\.mjs"\)/;

/**
 * The start of the same module for CommonJS (`.js`), which `require` resolves. It is read as text: the
 * compiler is between the first two quotes.
 */
const FILE = /^const wasm = "[A-Za-z0-9+/]+=*";/;

/**
 * Makes a generated client (its `internal/class.ts`) read the compiler from the module's file. An imported
 * module stays in memory as long as the process, as source and as export: 9 MB in each service for a value
 * that is needed once. Errors: Error if the client does not have the known form.
 */
export function readCompilerFromFile(source: string): string {
  const module = IMPORT.exec(source)?.groups?.module;
  if (module === undefined) throw new Error("Prisma's generated client loads its query compiler in an unknown way");
  const file = createRequire(import.meta.url).resolve(`${module}.js`);
  if (!FILE.test(readFileSync(file, "latin1"))) throw new Error(`${module}.js has an unknown form`);
  return source.replace(
    IMPORT,
    `const { readFileSync } = await import("node:fs")
    const { createRequire } = await import("node:module")
    const file = createRequire(import.meta.url).resolve("${module}.js")
    const wasm = readFileSync(file, "latin1").split('"')[1]!`,
  );
}
