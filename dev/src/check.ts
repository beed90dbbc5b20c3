import { existsSync } from "node:fs";
import { join } from "node:path";
import { checkBreakingChanges } from "./check-contracts.ts";
import { checkWords } from "./check-words.ts";
import { Failure } from "./fail.ts";
import { generate } from "./generate.ts";
import { checkImports } from "./import-rules.ts";
import { root } from "./paths.ts";
import { run } from "./run.ts";

const bin = (name: string) => join(root, "node_modules/.bin", name);

async function importRules(): Promise<void> {
  const violations = checkImports(root);
  if (violations.length > 0) throw new Failure(violations.join("\n"));
}

/** Retired words and long lines; the list is dev/words.json. */
async function words(): Promise<void> {
  const found = checkWords(root);
  if (found.length === 0) return;
  const more = found.length > 40 ? [`… and ${found.length - 40} more`] : [];
  throw new Failure([...found.slice(0, 40), ...more].join("\n"));
}

async function reportBreakingChanges(): Promise<void> {
  console.log(`        buf breaking: ${await checkBreakingChanges()}`);
}

/** `npm run check`: types, lint and format, import rules, words, contracts. Runs all of them before it fails. */
export async function check(): Promise<void> {
  const steps: [string, () => Promise<unknown>][] = [
    ["generated code", generate],
    ["types (tsc)", () => run(bin("tsc"), ["-p", "tsconfig.json"])],
    ["types of the example page (tsc)", () => run(bin("tsc"), ["-p", "examples/web-wallet"])],
    ["lint and format (biome)", () => run(bin("biome"), ["check", "--error-on-warnings", "--diagnostic-level=warn"])],
    ["import rules", importRules],
    ["words and line lengths", words],
  ];
  if (existsSync(join(root, "proto/buf.yaml"))) {
    steps.push(["contracts (buf lint)", () => run(bin("buf"), ["lint"], { cwd: join(root, "proto") })]);
    steps.push(["contracts since the last release (buf breaking)", reportBreakingChanges]);
  }
  let failed = 0;
  for (const [name, step] of steps) {
    const started = performance.now();
    try {
      await step();
      console.log(`ok      ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED  ${name}\n${error instanceof Failure ? error.message : (error as Error).stack}`);
    }
  }
  if (failed > 0) throw new Failure(`${failed} of ${steps.length} checks failed (above).`);
}
