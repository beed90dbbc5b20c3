import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/** How a generated client of Prisma 7 gets its query compiler: a module whose only export is 4.6 MB of base64. */
const IMPORT = /const \{ wasm \} = await import\("(?<module>@prisma\/client\/runtime\/[\w.-]+\.wasm-base64)\.mjs"\)/;

/** The file behind it, as far as it is read: what stands between the first two quotes is the compiler. */
const FILE = /^const wasm = "[A-Za-z0-9+/]+=*";/;

/**
 * Has a generated client (its `internal/class.ts`) read the compiler from the module's file. A module stays for as long as its process, once as source
 * and once as what it exports: 9 MB in each service for what is needed once. Errors: Error where the client is not one of those that this knows.
 */
export function readCompilerFromFile(source: string): string {
  const module = IMPORT.exec(source)?.groups?.module;
  if (module === undefined) throw new Error("Prisma's generated client has another way to its query compiler");
  const file = createRequire(import.meta.url).resolve(`${module}.js`);
  if (!FILE.test(readFileSync(file, "latin1"))) throw new Error(`${module}.js is written in another way`);
  return source.replace(
    IMPORT,
    `const { readFileSync } = await import("node:fs")
    const { createRequire } = await import("node:module")
    const file = createRequire(import.meta.url).resolve("${module}.js")
    const wasm = readFileSync(file, "latin1").split('"')[1]!`,
  );
}
