import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { reportFailure } from "../fail.ts";
import { root } from "../paths.ts";
import { type Closure, type LockEntries, productionClosure } from "./closure.ts";
import { parseDebianPackages, parseGoModules, sbomOf } from "./sbom.ts";

/** The parts of a workspace that its program reads. */
const SHIPPED = ["package.json", "src", "sql", "gen", "cadence-parser/dist"];

/** Files of libraries that no program reads. Node removes no types below node_modules. */
const UNREAD = /(\.map|\.[cm]?ts|\.md|\.markdown|\.flow)$/;

/**
 * Prisma's client has a query compiler for each kind of database, in two sizes and two module formats: 67 MB.
 */
const OF_PRISMA = /\/@prisma\/client\/runtime\/(?<file>.+)$/;
const READ_OF_PRISMA = /^(client\.m?js|query_compiler_fast_bg\.postgresql\.(mjs|wasm-base64\.js))$/;

const isModule = (path: string): boolean => path.includes("node_modules/");

/** Returns whether a program may read a file of a library. */
export function isRead(path: string): boolean {
  const file = OF_PRISMA.exec(path)?.groups?.file;
  return !UNREAD.test(path) && (file === undefined || READ_OF_PRISMA.test(file));
}

/** Copies what the programs of the packages read to `target`. */
function copy(closure: Closure, entries: LockEntries, target: string): void {
  for (const path of closure.keys()) {
    if (isModule(path)) {
      // A package's own node_modules are entries of their own.
      const nested = join(root, path, "node_modules");
      const filter = (file: string) => isRead(file) && file !== nested;
      cpSync(join(root, path), join(target, path), { recursive: true, dereference: true, filter });
      continue;
    }
    for (const part of SHIPPED.filter((each) => existsSync(join(root, path, each))))
      cpSync(join(root, path, part), join(target, path, part), { recursive: true });
    const link = join(target, "node_modules", entries[path]?.name as string);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(relative(dirname(link), join(target, path)), link);
  }
  cpSync(join(root, "package.json"), join(target, "package.json"));
}

// `node packages/build/src/image/assemble.ts <image> <inputs> <target> <workspace>…`: a step of
// deploy/Dockerfile. `inputs` has the lists of Debian's packages and of Go's modules.
if (import.meta.main) {
  try {
    const [name = "", inputs = "", target = "", ...workspaces] = process.argv.slice(2);
    const read = (file: string) => readFileSync(join(inputs, file), "utf8");
    const entries = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages as LockEntries;
    const closure = productionClosure(entries, workspaces, (path) => existsSync(join(root, path)));
    copy(closure, entries, target);
    const sbom = sbomOf({
      name,
      version: JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version,
      node: process.versions.node,
      created: new Date(Number(process.env.SOURCE_DATE_EPOCH || 0) * 1000),
      entries,
      closure,
      debian: parseDebianPackages(read("dpkg-status")),
      go: closure.has("services/signer") ? parseGoModules(read("go-modules")) : [],
    });
    writeFileSync(join(target, "sbom.cdx.json"), `${JSON.stringify(sbom, null, 2)}\n`);
  } catch (error) {
    reportFailure(error);
  }
}
