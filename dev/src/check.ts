import { existsSync } from "node:fs";
import { join } from "node:path";
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

/** `npm run check`: types, lint and format, proto lint, import rules. Runs all of them before it fails. */
export async function check(): Promise<void> {
  const steps: [string, () => Promise<unknown>][] = [
    ["generated code", generate],
    ["types (tsc)", () => run(bin("tsc"), ["-p", "tsconfig.json"])],
    ["types of the example page (tsc)", () => run(bin("tsc"), ["-p", "examples/web-wallet"])],
    ["lint and format (biome)", () => run(bin("biome"), ["check", "--error-on-warnings", "--diagnostic-level=warn"])],
    ["import rules", importRules],
  ];
  if (existsSync(join(root, "proto/buf.yaml"))) {
    steps.push(["contracts (buf lint)", () => run(bin("buf"), ["lint"], { cwd: join(root, "proto") })]);
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
