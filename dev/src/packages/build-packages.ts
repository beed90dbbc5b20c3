import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import * as events from "@countersign/http-api/events.ts";
import * as requests from "@countersign/http-api/requests.ts";
import * as resources from "@countersign/http-api/resources.ts";
import { build, type Rolldown } from "tsdown";
import { z } from "zod";
import { resourceTypes } from "./resource-types.ts";

/**
 * The packages that app developers install, by their folders in packages/. A new one is added here and in
 * packages/tsconfig.build.json.
 */
const PUBLISHED = ["keys", "flow", "client", "fcl", "react", "react-native", "testing"] as const;

/** The oldest Node that the packages run on: `@noble/hashes` asks for it. */
const NODE = ">=20.19.0";
const TARGET = "es2022";
/**
 * Packages that become part of the one that imports them: workspace packages that only give types, and a
 * library that runs on Node 20 though its manifest says 22, so that `npm install` would warn (EBADENGINE).
 */
const INLINED = ["@countersign/http-api", "@countersign/core", "eventsource-parser"];

interface Manifest {
  name: string;
  version: string;
  description?: string;
  exports: Record<string, string>;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional: boolean }>;
}

/**
 * `npm run build:packages`: builds every published package into the folder `out`, packs it, and prints its
 * file. The sources' own package.json names the TypeScript files, which the repository runs unbuilt; the
 * packed one is made here.
 */
export async function buildPackages(out: string): Promise<void> {
  const outDir = resolve(root, out);
  rmSync(outDir, { recursive: true, force: true });
  const typesDir = join(outDir, "types");
  const httpTypes = writeHttpTypes(typesDir);
  for (const name of PUBLISHED) await buildPackage(name, outDir, httpTypes);
  rmSync(typesDir, { recursive: true });
}

/** Writes the declarations of the HTTP API's shapes; returns their files by the modules of the sources. */
function writeHttpTypes(folder: string): Record<string, string> {
  mkdirSync(folder, { recursive: true });
  const accountEvents = { AccountEventData: z.object(events.ACCOUNT_EVENTS) };
  const texts = {
    events: resourceTypes(accountEvents, "output"),
    requests: resourceTypes({ ...requests }, "input"),
    resources: resourceTypes({ ...resources }, "output"),
  };
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => {
      const file = join(folder, `${name}.d.ts`);
      writeFileSync(file, text);
      return [`@countersign/http-api/${name}.ts`, file];
    }),
  );
}

async function buildPackage(name: string, outDir: string, httpTypes: Record<string, string>): Promise<void> {
  const source = join(root, "packages", name);
  const folder = join(outDir, name);
  const manifest: Manifest = JSON.parse(readFileSync(join(source, "package.json"), "utf8"));
  const entries = entriesOf(manifest);
  const inlined = Object.keys(manifest.dependencies ?? {}).filter((each) => INLINED.includes(each));
  await build({
    config: false,
    cwd: source,
    entry: Object.fromEntries(entries.map(([, entry, file]) => [entry, file])),
    outDir: join(folder, "dist"),
    format: "esm",
    platform: "neutral",
    target: TARGET,
    hash: false,
    dts: true,
    sourcemap: false,
    tsconfig: join(root, "packages/tsconfig.build.json"),
    logLevel: "warn",
    // Its only warning so far: that the compiler of TypeScript 7 has no stable API yet.
    suppressWarnings: /TypeScript 7\.0 does not yet have a stable API/,
    failOnWarn: true,
    checks: { bundlerTimings: false },
    deps: {
      neverBundle: [/^node:/, ...PUBLISHED.map((each) => new RegExp(`^@countersign/${each}(/|$)`))],
      alwaysBundle: inlined.map((each) => new RegExp(`^${each}(/|$)`)),
    },
    // Before the plugin that makes declarations: its own way to resolve them would lead to the zod schemas.
    inputOptions: (options) => ({ ...options, plugins: [httpTypesPlugin(httpTypes), options.plugins] }),
  });
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(packedManifest(manifest, entries), null, 2)}\n`);
  writeFileSync(join(folder, "LICENSE"), licenseOf(inlined));
  const readme = join(source, "README.md");
  if (!existsSync(readme)) throw new Failure(`packages/${name} has no README.md: app developers read it first.`);
  cpSync(readme, join(folder, "README.md"));
  await run("npm", ["pack", "--silent", "--pack-destination", outDir], { cwd: folder });
  const tarball = `countersign-${name}-${manifest.version}.tgz`;
  if (!readdirSync(outDir).includes(tarball)) throw new Failure(`npm pack made no ${tarball}`);
  console.log(`${manifest.name}: ${relative(process.cwd(), join(outDir, tarball))}`);
}

/** Returns our licence, and those of the libraries that the package contains. */
function licenseOf(inlined: readonly string[]): string {
  const libraries = inlined.filter((each) => !each.startsWith("@countersign/"));
  const theirs = libraries.map((each) => {
    const text = readFileSync(join(root, "node_modules", each, "LICENSE"), "utf8");
    return `\n${"-".repeat(80)}\n\nThis package contains ${each}, with this licence:\n\n${text}`;
  });
  return [readFileSync(join(root, "LICENSE"), "utf8"), ...theirs].join("");
}

const httpTypesPlugin = (files: Record<string, string>): Rolldown.Plugin => ({
  name: "http-types",
  resolveId: { order: "pre", handler: (id) => files[id] },
});

type Entry = readonly [path: string, entry: string, file: string];

/** Returns the entry points to build. `./testing` is the repository's own: `@countersign/testing` has it. */
const entriesOf = ({ exports }: Manifest): Entry[] =>
  Object.entries(exports)
    .filter(([path]) => path !== "./testing")
    .map(([path, file]) => [path, path === "." ? "index" : path.slice(2), file]);

/** Returns the package.json of the packed package: built files instead of sources, and nothing private. */
function packedManifest(manifest: Manifest, entries: readonly Entry[]): Record<string, unknown> {
  const { name, version, description, dependencies = {}, peerDependencies, peerDependenciesMeta } = manifest;
  const built = (entry: string) => ({ types: `./dist/${entry}.d.ts`, default: `./dist/${entry}.js` });
  return {
    name,
    version,
    description,
    license: "Apache-2.0",
    type: "module",
    sideEffects: false,
    engines: { node: NODE },
    files: ["dist"],
    exports: {
      ...Object.fromEntries(entries.map(([path, entry]) => [path, built(entry)])),
      "./package.json": "./package.json",
    },
    dependencies: Object.fromEntries(Object.entries(dependencies).filter(([each]) => !INLINED.includes(each))),
    ...(peerDependencies && { peerDependencies }),
    ...(peerDependenciesMeta && { peerDependenciesMeta }),
  };
}
