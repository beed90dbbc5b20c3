import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { expect, it } from "vitest";

/** Declared and not imported by a file in git, each with its reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "@bufbuild/buf": "command of `npm run check` and `npm run generate`",
  "@bufbuild/protobuf": "imported by the generated stubs",
  "@grpc/grpc-js": "imported by the generated stubs",
  "@prisma/client": "imported by the generated clients",
  prisma: "run by `npm run generate`",
  "google-proto-files": "read by buf",
  "ts-proto": "run by buf",
};

const git = (...args: string[]): string[] =>
  spawnSync("git", args, { cwd: root, encoding: "utf8" }).stdout.split("\n").filter(Boolean);
const manifests = git("ls-files", "package.json", "*/package.json");

it.each(manifests)("%s declares only what its package imports", (manifest) => {
  const folder = manifest.slice(0, -"package.json".length);
  const { dependencies = {}, devDependencies = {} } = JSON.parse(readFileSync(join(root, manifest), "utf8"));
  const declared = [...Object.keys(dependencies), ...Object.keys(devDependencies)].filter(
    (name) => !name.startsWith("@types/") && !Object.hasOwn(EXCEPTIONS, name),
  );
  const isNamed = (name: string) => {
    const pattern = `["'\`](node_modules/|.*/node_modules/)?${name.replaceAll(".", "\\.")}(["'\`/]|$)`;
    const files = git("grep", "-lE", pattern, "--", folder || ".", ":!*package.json", ":!package-lock.json");
    return files.length > 0;
  };
  expect(declared.filter((name) => !isNamed(name))).toEqual([]);
});

const IMPORT =
  /(?:^|[;}\s])(?:import|export)\s(?!type\b)(?:[^"';()]*?\sfrom\s*)?["']([^"'.][^"']*)["']|\bimport\(\s*["']([^"'.][^"']*)["']/g;
const packageOf = (name: string): string =>
  name
    .split("/")
    .slice(0, name.startsWith("@") ? 2 : 1)
    .join("/");

it.each(manifests.filter((manifest) => /^(packages|services|gateway|proto)\b/.test(manifest)))(
  "%s declares what its production code imports, for production",
  (manifest) => {
    const folder = manifest.slice(0, -"package.json".length);
    const { name: own, dependencies = {} } = JSON.parse(readFileSync(join(root, manifest), "utf8"));
    const sources = git("ls-files", `${folder}*.ts`).filter((file) => !/\.test\.ts$|\/testing\//.test(file));
    const imported = sources.flatMap((file) =>
      [...readFileSync(join(root, file), "utf8").matchAll(IMPORT)].map((match) => packageOf((match[1] ?? match[2])!)),
    );
    const missing = imported.filter((name) => !isBuiltin(name) && name !== own && !Object.hasOwn(dependencies, name));
    expect([...new Set(missing)]).toEqual([]);
  },
);
