import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { expect, it } from "vitest";

/** Declared and not imported by a file in git, each with its reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "@swc/core": "parser of dependency-cruiser",
  "@bufbuild/buf": "command of `npm run check` and `npm run generate`",
  "@bufbuild/protobuf": "imported by the generated stubs",
  "@grpc/grpc-js": "imported by the generated stubs",
  "@prisma/client": "imported by the generated clients",
  "@redocly/cli": "command of `npm run check`",
  "happy-dom": "the environment of packages/react's tests, which vitest loads",
  prisma: "run by `npm run generate`",
  "google-proto-files": "read by buf",
  "oidc-client-ts": "imported by code blocks of docs/",
  "squawk-cli": "command of `npm run check`",
  "ts-proto": "run by buf",
  typescript: "its tsc is run by `npm run check`",
};

const git = (...args: string[]): string[] =>
  spawnSync("git", args, { cwd: root, encoding: "utf8" }).stdout.split("\n").filter(Boolean);
// tests/packages/expo/package.json holds the versions of examples/expo, which a test compares.
const manifests = git("ls-files", "package.json", "*/package.json", ":!tests/packages/expo/package.json");

it.each(manifests)("%s declares only what its package imports", (manifest) => {
  const folder = manifest.slice(0, -"package.json".length);
  const { dependencies = {}, devDependencies = {} } = JSON.parse(readFileSync(join(root, manifest), "utf8"));
  const declared = [...Object.keys(dependencies), ...Object.keys(devDependencies)].filter(
    (name) => !name.startsWith("@types/") && !Object.hasOwn(EXCEPTIONS, name),
  );
  const names = declared.map((name) => name.replaceAll(".", "\\.")).join("|");
  const pattern = `["'\`](node_modules/|.*/node_modules/)?(${names})(["'\`/]|$)`;
  const found = git("grep", "-ohE", pattern, "--", folder || ".", ":!*package.json", ":!package-lock.json");
  const named = new Set(found.map((match) => match.replace(/^.(.*node_modules\/)?/, "").replace(/["'`/]$/, "")));
  expect(declared.filter((name) => !named.has(name))).toEqual([]);
});

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

// With the rule `declared` of import-rules.ts: files of two packages never import each other in a circle.
it("production dependencies among our packages have no cycle", () => {
  const parsed = manifests.map((path): Manifest => JSON.parse(readFileSync(join(root, path), "utf8")));
  const needs = new Map(parsed.map(({ name, dependencies = {} }) => [name, Object.keys(dependencies)]));
  const cyclesFrom = (name: string, path: readonly string[] = []): string[] =>
    path.includes(name)
      ? [[...path, name].join(" → ")]
      : (needs.get(name) ?? []).flatMap((next) => cyclesFrom(next, [...path, name]));
  expect([...needs.keys()].flatMap((name) => cyclesFrom(name))).toEqual([]);
});
