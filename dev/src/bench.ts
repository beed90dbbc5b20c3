import { spawn } from "node:child_process";
import { join } from "node:path";
import { ensureCadenceParser } from "@countersign/build/cadence-parser.ts";
import { generate } from "@countersign/build/generate.ts";
import { root } from "@countersign/build/paths.ts";
import { ensureTools } from "@countersign/local-stack/tools.ts";
import { NO_PRETENURING } from "@countersign/runtime/node-flags.ts";

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

function run(file: string, args: string[]): Promise<number> {
  // The services' flag, so that the floors are compared fairly.
  const child = spawn(process.execPath, [NO_PRETENURING, join(root, file), ...args], { cwd: root, stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => child.on("exit", (code) => resolve(code ?? 1)));
}
