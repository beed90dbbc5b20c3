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
import { Checks } from "./checks.ts";
import { checkErrorPage } from "./docs/error-catalogue.ts";

/** Returns a step that runs a program of node_modules in a folder. */
const runs =
  (name: string, args: string[], folder = ".") =>
  async (): Promise<void> =>
    void (await run(join(root, "node_modules/.bin", name), args, { cwd: join(root, folder) }));

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

/**
 * `npm run check`: types, lint, format and import rules, words, links, contracts. Runs all checks before it
 * fails.
 */
export async function check(): Promise<void> {
  const steps: [string, () => Promise<unknown>][] = [
    ["generated code", generate],
    ["types (tsc)", runs("tsc", ["-p", "tsconfig.json"])],
    ["types of the wallet (tsc)", runs("tsc", ["-p", "apps/wallet"])],
    ["types of the documentation's site (tsc)", runs("tsc", ["-p", "docs"])],
    ["lint and format (biome)", runs("biome", ["check", "--error-on-warnings", "--diagnostic-level=warn"])],
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
    ["contracts (buf lint)", runs("buf", ["lint"], "proto")],
    ["contracts since the last release (buf breaking)", checkBreakingChanges],
  ];
  const checks = new Checks();
  for (const [name, step] of steps) await checks.run(name, step);
  if (checks.failed > 0) throw new Failure(`${checks.failed} of ${steps.length} checks failed (above).`);
}
