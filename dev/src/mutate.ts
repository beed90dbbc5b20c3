import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Failure } from "@countersign/build/fail.ts";
import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import { trackedFiles } from "./check-words.ts";

// Not declared as dependencies: they bring 180 packages, and mutation tests run rarely.
const STRYKER = ["@stryker-mutator/core@10.1.1", "@stryker-mutator/vitest-runner@10.1.1"];
/** Folders in which a mistake could let somebody steal money. */
const FOLDERS = [
  "packages/access-tokens/src",
  "packages/core/src/two-persons.ts",
  "services/auth/src/domain",
  "services/device/src/domain",
  "services/signer/src/policy",
];
const GENERATED = ["proto/gen", "services/signer/cadence-parser/dist"].concat(
  ["account", "auth", "device", "key", "signer"].map((service) => `services/${service}/src/store/generated`),
);
/** Texts, lists and objects change messages and test data more than rules. */
const EXCLUDED = ["StringLiteral", "ObjectLiteral", "ArrayDeclaration", "Regex"];

/** Copies the present files to a directory that Stryker may write to; node_modules are linked. */
function copyCheckout(): string {
  const copy = mkdtempSync(join(tmpdir(), "countersign-mutate-"));
  const listed = trackedFiles(root);
  for (const path of [...listed, ...GENERATED]) {
    if (!existsSync(join(root, path))) continue;
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    cpSync(join(root, path), join(copy, path), { recursive: true });
  }
  const packages = listed.flatMap((path) => /^(packages|services)\/[^/]+/.exec(path)?.[0] ?? []);
  for (const owner of new Set(["", "gateway", "dev", ...packages])) {
    const modules = join(root, owner, "node_modules");
    if (existsSync(modules)) symlinkSync(modules, join(copy, owner, "node_modules"));
  }
  return copy;
}

/** Installs Stryker in a directory of its own, with this checkout's Vitest. */
async function installStryker(directory: string): Promise<string> {
  mkdirSync(directory);
  await run("npm", [
    "install",
    "--prefix",
    directory,
    "--legacy-peer-deps",
    "--no-audit",
    "--ignore-scripts",
    ...STRYKER,
  ]);
  const modules = join(directory, "node_modules");
  rmSync(join(modules, "vitest"), { recursive: true, force: true });
  symlinkSync(join(root, "node_modules/vitest"), join(modules, "vitest"));
  return modules;
}

/**
 * Fixtures register hooks once per worker, so here each test file needs its own worker, which takes longer.
 */
const NEEDS_ISOLATION = /^services\/(signer|account)\//;

const vitestConfig = (folder: string) => `import { defineConfig } from "vitest/config";
export default defineConfig({ test: {
  include: ["${folder}/**/*.test.ts"], exclude: ["**/*.service.test.ts"],
  globalSetup: ["packages/local-stack/src/testing/parser-setup.ts"], maxWorkers: 1, testTimeout: 20_000,
  isolate: ${NEEDS_ISOLATION.test(folder)},
} });
`;

/** Returns one line for each mutant that no test noticed. */
function survivorsOf(report: string): string[] {
  const { files } = JSON.parse(readFileSync(report, "utf8")) as {
    files: Record<
      string,
      {
        source: string;
        mutants: {
          status: string;
          mutatorName: string;
          replacement?: string;
          location: { start: { line: number; column: number }; end: { line: number } };
        }[];
      }
    >;
  };
  return Object.entries(files).flatMap(([file, { source, mutants }]) => {
    const lines = source.split("\n");
    const count = (status: string) => mutants.filter((mutant) => mutant.status === status).length;
    const survived = mutants
      .filter(({ status }) => status === "Survived")
      .map(({ location: { start }, mutatorName, replacement = "" }) => {
        const text = replacement.replace(/\s+/g, " ").slice(0, 70);
        return `  ${start.line}:${start.column} ${mutatorName} -> ${text} | ${lines[start.line - 1]?.trim()}`;
      });
    const killed = count("Killed") + count("Timeout");
    return [`${file}: ${killed} killed, ${survived.length} survived, ${count("NoCoverage")} not run`, ...survived];
  });
}

/**
 * `npm run mutate [folder or file]…`: changes one expression after the other and runs the unit tests of the
 * folder that reach it; prints the changes that no test notices. See docs/mutation-testing.md.
 */
export async function mutate(targets: string[]): Promise<void> {
  const copy = copyCheckout();
  try {
    const modules = await installStryker(join(copy, ".stryker"));
    const runner = join(modules, "@stryker-mutator/vitest-runner/dist/src/index.js");
    for (const target of targets.length > 0 ? targets : FOLDERS) {
      if (!existsSync(join(root, target))) throw new Failure(`${target} does not exist`);
      const isFile = target.endsWith(".ts");
      writeFileSync(join(copy, "vitest.mutation.config.ts"), vitestConfig(isFile ? dirname(target) : target));
      const config = {
        testRunner: "vitest",
        plugins: [pathToFileURL(runner).href],
        vitest: { configFile: "vitest.mutation.config.ts", related: true },
        mutate: [isFile ? target : `${target}/**/*.ts`, "!**/*.test.ts", "!**/testing/**"],
        mutator: { excludedMutations: EXCLUDED },
        inPlace: true,
        ignoreStatic: true,
        concurrency: 1,
        timeoutMS: 20_000,
        reporters: ["json"],
        jsonReporter: { fileName: "mutation.json" },
        allowEmpty: true,
      };
      writeFileSync(join(copy, "stryker.config.json"), JSON.stringify(config));
      await run(process.execPath, [join(modules, "@stryker-mutator/core/bin/stryker.js"), "run"], { cwd: copy });
      console.log(survivorsOf(join(copy, "mutation.json")).join("\n"));
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
