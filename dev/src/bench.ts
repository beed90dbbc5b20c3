import { join } from "node:path";
import { ensureCadenceParser } from "@countersign/build/cadence-parser.ts";
import { generate } from "@countersign/build/generate.ts";
import { root } from "@countersign/build/paths.ts";
import { ensureTools } from "@countersign/local-stack/tools.ts";
import { NO_PRETENURING } from "@countersign/runtime/node-flags.ts";
import { runInForeground } from "./foreground.ts";

/** `npm run bench`: prepares what the stack needs, then runs the benchmark with the given arguments. */
export async function bench(args: string[]): Promise<number> {
  await generate();
  await ensureTools((line) => console.error(line));
  await ensureCadenceParser((line) => console.error(line));
  return run("bench/src/main.ts", args);
}

/** `npm run simulate-year`: needs the databases' generated code only. */
export async function simulateYear(args: string[]): Promise<number> {
  await generate();
  return run("bench/src/year.ts", args);
}

// With the services' flag, so that the floors are compared fairly.
const run = (file: string, args: readonly string[]): Promise<number> =>
  runInForeground([NO_PRETENURING, join(root, file), ...args]);
