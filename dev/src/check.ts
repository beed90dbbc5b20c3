import { existsSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { generate } from "@countersign/build/generate.ts";
import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import { checkBreakingChanges } from "./check-contracts.ts";
import { checkDistribution } from "./check-distribution.ts";
import { checkImports } from "./check-imports.ts";
import { checkLinks } from "./check-links.ts";
import { checkMains } from "./check-mains.ts";
import { checkMetrics } from "./check-metrics.ts";
import { checkMigrations } from "./check-migrations.ts";
import { checkPrivacy } from "./check-privacy.ts";
import { checkSettings } from "./check-settings.ts";
import { checkWords } from "./check-words.ts";
import { checkErrorPage } from "./docs/error-catalogue.ts";

const bin = (name: string) => join(root, "node_modules/.bin", name);

/** Fails with the first of the problems that were found. */
function report(found: string[]): void {
  if (found.length === 0) return;
  const more = found.length > 40 ? [`… and ${found.length - 40} more`] : [];
  throw new Failure([...found.slice(0, 40), ...more].join("\n"));
}

async function reportImports(): Promise<void> {
  const refused = await checkImports(root);
  report(refused.map(({ rule, from, to, why }) => `${from} imports ${to}\n        ${rule}: ${why}`));
}

async function reportBreakingChanges(): Promise<void> {
  console.log(`        buf breaking: ${await checkBreakingChanges()}`);
}

/**
 * `npm run check`: types, lint, format and import rules, words, links, contracts. Runs all checks before it
 * fails.
 */
export async function check(): Promise<void> {
  const steps: [string, () => Promise<unknown>][] = [
    ["generated code", generate],
    ["types (tsc)", () => run(bin("tsc"), ["-p", "tsconfig.json"])],
    ["types of the wallet (tsc)", () => run(bin("tsc"), ["-p", "apps/wallet"])],
    ["types of the documentation's site (tsc)", () => run(bin("tsc"), ["-p", "docs"])],
    ["lint and format (biome)", () => run(bin("biome"), ["check", "--error-on-warnings", "--diagnostic-level=warn"])],
    ["import rules (dev/src/import-rules.ts)", reportImports],
    ["words and line lengths (dev/words.json)", async () => report(checkWords(root))],
    ["links and paths in Markdown", async () => report(checkLinks(root))],
    ["nothing works on one node of Postgres only", async () => report(checkDistribution(root))],
    ["new migrations lock no table for long (squawk)", async () => report(checkMigrations(root))],
    ["no main.ts has more than 120 lines", async () => report(checkMains(root))],
    ["metrics of docs, alerts and dashboards exist; alerts have runbooks", async () => report(checkMetrics(root))],
    ["columns are in the inventory of personal data", async () => report(checkPrivacy(root))],
    ["docs/errors.md has every error", async () => report(checkErrorPage(root))],
    ["settings are documented", async () => report(checkSettings(root))],
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
