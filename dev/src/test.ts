import { join } from "node:path";
import { ensureCadenceParser } from "@countersign/build/cadence-parser.ts";
import { generate } from "@countersign/build/generate.ts";
import { compileCacheDir, root } from "@countersign/build/paths.ts";
import { ensureChromium } from "@countersign/local-stack/chromium.ts";
import { ensureTestPrograms } from "@countersign/local-stack/test-programs.ts";
import { ensureGrpcurl, ensureLocalKms, ensureTools } from "@countersign/local-stack/tools.ts";
import { runInForeground } from "./foreground.ts";

/**
 * `npm test`: prepares what tests need (stubs, tools), then runs vitest with the given arguments. Without
 * names of projects or files it leaves out what takes long: see vitest.config.ts.
 */
export async function test(args: string[]): Promise<number> {
  await prepareTests(args);
  if (namesProject(args)) return runVitest(args);
  const projects = ["api", "deploy", "docs", "native", "operations", "packages", "wallet"];
  const longer = projects.map((name) => `--project=!${name}`);
  const namesFile = args.some((arg) => !arg.startsWith("-"));
  return runVitest([...longer, ...args], namesFile ? {} : { CS_TEST_LONG_FAULTS: "0" });
}

/** Prepares what the tests of these arguments of vitest need. */
export async function prepareTests(args: readonly string[]): Promise<void> {
  await generate();
  // Built before vitest starts: in a test's set-up, a build of minutes would look like a hang.
  await ensureTools((line) => console.log(line));
  await ensureCadenceParser((line) => console.log(line));
  await ensureLocalKms((line) => console.log(line));
  if (runsEndToEnd(args)) {
    await ensureChromium((line) => console.log(line));
    await ensureGrpcurl((line) => console.log(line));
  }
  await ensureTestPrograms((line) => console.log(line));
}

/** Runs vitest with these arguments and further variables, and returns its exit code. */
export async function runVitest(args: readonly string[], variables: Record<string, string> = {}): Promise<number> {
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  // Every worker loads the same packages.
  const env = { ...process.env, NODE_COMPILE_CACHE: compileCacheDir, ...variables };
  return runInForeground([vitest, "run", ...args, ...reporters(args)], { env });
}

/** Prepares what a project's tests need, then runs them. Returns vitest's exit code. */
export async function runProject(
  name: string,
  args: readonly string[],
  variables?: Record<string, string>,
): Promise<number> {
  const project = `--project=${name}`;
  await prepareTests([project]);
  return runVitest([project, ...args], variables);
}

/** Returns the reporter arguments: in CI, a skipped test fails the run. */
function reporters(args: readonly string[]): string[] {
  if (!process.env.CI) return [];
  const named = args.some((arg) => arg.startsWith("--reporter"));
  return [
    ...(named ? [] : ["--reporter=default"]),
    `--reporter=${join(import.meta.dirname, "testing/no-skipped-tests.ts")}`,
  ];
}

const namesProject = (args: readonly string[]) => args.some((arg) => arg.startsWith("--project"));

const WITHOUT_BROWSER = ["unit", "react-native", "service", "faults", "operations"];

/** Returns whether vitest runs end-to-end tests with these arguments: of a named project, or of all. */
export function runsEndToEnd(args: readonly string[]): boolean {
  const named = args.flatMap((arg, at) =>
    arg === "--project" ? [args[at + 1] ?? ""] : arg.split("--project=").slice(1),
  );
  return named.length === 0 || named.some((project) => !WITHOUT_BROWSER.includes(project));
}
